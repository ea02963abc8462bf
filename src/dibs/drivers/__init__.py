"""Who publishes devices: device models as data, and what is made of them.

    models.yaml  cards and their partitions: facts, each with its source
    models       those facts as values
    fleet        so many of which on which nodes → Nodes, ResourceSlices, DeviceClasses

A fleet is what `dibs up --fleet` shows to schedulers and people; nothing runs on it.
"""

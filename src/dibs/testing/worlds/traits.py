"""What a world may have beyond the plain model: one word a feature.

Without any trait a world has all of KEP-4381, with prioritized lists (4816), admin access (5018)
and device taints (5055).
"""

from __future__ import annotations

COUNTERS = "counters"  # partitions of cards, KEP-4815
CAPACITY = "capacity"  # shareable devices, KEP-5075
LISTS = "lists"  # list attributes, KEP-5491
BINDING = "binding"  # binding conditions, KEP-5007
GROUPS = "groups"  # compatibility groups of partitions, KEP-5963
DERIVED = "derived"  # derived attributes, KEP-6080
FRACTIONS = "fractions"  # capacity in thousandths (DRAFractionalCapacityRange)
SKIPS = "skips"  # optional node operations, KEP-5945
METERS = "meters"  # counters drawn by capacity, KEP-5941
RECORDS = "records"  # claims that remember what they drew, designs/031
SWITCHES = "switches"  # one feature may be switched off

# What kube-scheduler knows, too.
UPSTREAM_TRAITS = frozenset(
    {COUNTERS, CAPACITY, LISTS, BINDING, GROUPS, DERIVED, FRACTIONS, SKIPS, SWITCHES}
)
EVERY_TRAIT = UPSTREAM_TRAITS | {METERS, RECORDS}

Traits = frozenset[str]

"""How many, how long: every number of resource.k8s.io that a rule compares with, in one place.

Lengths are in bytes. Source: the constants of the API package, Kubernetes 1.37; designs/010 says
where two sources differ.
"""

from __future__ import annotations

from typing import Final

# ResourceSlice
DEVICES: Final = 128
# If a device of the slice has taints, draws on counters or has an attribute that is a list.
DEVICES_WITH_MORE: Final = 64
ATTRIBUTES_AND_CAPACITIES: Final = 32
ATTRIBUTE_VALUES: Final = 48
ATTRIBUTE_VALUE_LENGTH: Final = 64
TAINTS: Final = 16
BINDING_CONDITIONS: Final = 4
COUNTER_SETS: Final = 8
COUNTERS: Final = 32
COUNTER_DRAWS: Final = 2
COMPATIBILITY_GROUPS: Final = 8
VALID_VALUES: Final = 10
# Keys are shown up to here, domain and name.
KEY_SHOWN: Final = 63 + 1 + 32

# ResourceClaim, DeviceClass
REQUESTS: Final = 32
ALTERNATIVES: Final = 8
SELECTORS: Final = 32
CONSTRAINTS: Final = 32
CONFIGS: Final = 32
REFERENCES: Final = 32
TOLERATIONS: Final = 16
DERIVED_ATTRIBUTES: Final = 32
EXPRESSION_LENGTH: Final = 10 * 1024
EXPRESSION_COST: Final = 1_000_000
# All derived attributes of a claim together.
DERIVED_COST: Final = 1_000_000
PARAMETERS_LENGTH: Final = 10 * 1024

# Status
RESULTS: Final = 32
ALLOCATED_CONFIGS: Final = 64
RESERVED_FOR: Final = 256
DEVICE_CONDITIONS: Final = 8
DEVICE_DATA_LENGTH: Final = 10 * 1024
INTERFACE_NAME_LENGTH: Final = 256
HARDWARE_ADDRESS_LENGTH: Final = 128
IPS: Final = 16
TAINT_RULE_CONDITIONS: Final = 8

# ResourcePoolStatusRequest
POOLS: Final = 1000
POOL_CONDITIONS: Final = 10
PARTITION_SUMMARY: Final = 32
SHAREABLE_CAPACITY: Final = 32
VALIDATION_ERROR_LENGTH: Final = 256

# PodGroup and Workload
GROUP_CLAIMS: Final = 4

# Everywhere
ANNOTATIONS_LENGTH: Final = 256 * 1024
REASON_LENGTH: Final = 1024
MESSAGE_LENGTH: Final = 32 * 1024
INT64_MAX: Final = 2**63 - 1
# Not Kubernetes': deeper trees are refused before anything walks them recursively.
PARAMETERS_DEPTH: Final = 200

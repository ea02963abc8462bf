"""Which optional parts of Dynamic Resource Allocation are on: one flag a KEP.

Resolved once, where pools, ledger and checks are built; nothing deeper asks for a flag.
The names are those of the conformance protocol; all on is what Kubernetes 1.37 converges to.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    admin_access: bool = True  # KEP-5018
    prioritized_list: bool = True  # KEP-4816
    partitionable_devices: bool = True  # KEP-4815
    device_taints: bool = True  # KEP-5055
    device_binding_and_status: bool = True  # KEP-5007, KEP-4817
    consumable_capacity: bool = True  # KEP-5075
    list_type_attributes: bool = True  # KEP-5491
    compatibility_groups: bool = True  # KEP-5963
    derived_attributes: bool = True  # KEP-6080
    optional_node_operations: bool = True  # KEP-5945
    fractional_capacity_range: bool = True  # KEP-5075, amounts in thousandths
    shared_consumable_capacity: bool = True  # KEP-5941


ALL = Features()

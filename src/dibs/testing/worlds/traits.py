"""What a world may have beyond the plain model: one word a feature.

Without any trait a world has all of KEP-4381, with prioritized lists (4816), admin access (5018)
and device taints (5055).
"""

from __future__ import annotations

COUNTERS = "counters"  # partitions of cards, KEP-4815
CAPACITY = "capacity"  # shareable devices, KEP-5075
LISTS = "lists"  # list attributes, KEP-5491
BINDING = "binding"  # binding conditions, KEP-5007
SWITCHES = "switches"  # one feature may be switched off

EVERY_TRAIT = frozenset({COUNTERS, CAPACITY, LISTS, BINDING, SWITCHES})

Traits = frozenset[str]

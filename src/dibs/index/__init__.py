"""Which nodes can't be ruled out for what is wanted, told in microseconds for thousands of nodes.

Derived from nodes, slices and the ledger; changed with them, piece by piece. Every answer here is
only a necessary condition: `allocate` has the last word on each node. See designs/032.
"""

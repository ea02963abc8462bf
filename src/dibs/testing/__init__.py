"""For tests, ours and yours: objects in a line, worlds from a seed, an allocator to compare with.

`builders` writes objects; `worlds` and `strategies` generate small clusters, `anything` objects
with every field set; `oracle` decides by brute force what `engine` asks of the real allocator;
`agree` compares answers of the conformance protocol; on a `disk` calls of SQLite fail, and
`writers` write into a store until they are killed. A `simulation` is the life of a control plane
from a seed, in `virtual` time: a `crowd` of users, an `unreliable` cluster, an `audit` of all that
is written; a `mortal` store dies with its n-th write. See docs/testing.md.
"""

"""A brute-force allocator: slow, plain, and independent of `dibs.allocate`.

It answers the same questions by reading the contract aloud: every pool is resolved again for
every question, every pick is tried in candidate order, every sum is added up from the picks so
far. Nothing is cached, pruned or undone. Tests hold the real allocator against it.

`search` has the search, `pools`, `wishes` and `holding` what it searches, `checks` what speaks
against a pick (with `cards`, `capacity` and `constraints`), `results` what is written at the end.
CEL is borrowed from `dibs.request`.
"""

from dibs.testing.oracle.search import answer

__all__ = ["answer"]

"""The nouns of the store: what is kept under which key, what changed, what may be asked for.

They say nothing of objects: a value is bytes, a resource a word. They are not tracked by the
garbage collector (there are many, and nothing in them can point back).
"""

from __future__ import annotations

import msgspec

# Namespace and name, by which a list is sorted.
Place = tuple[str, str]


class Key(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """`resource` such as "pods" or "resourceclaims.resource.k8s.io"; no namespace is ""."""

    resource: str
    namespace: str
    name: str

    @property
    def place(self) -> Place:
        return (self.namespace, self.name)

    def __str__(self) -> str:
        return "/".join(part for part in (self.resource, self.namespace, self.name) if part)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What stands under a key since `mod_revision`; there has been one since `create_revision`."""

    key: Key
    value: bytes
    mod_revision: int
    create_revision: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One write: created (no `before`), changed, or deleted (no `after`).

    All watches hand out the same object, so what is made of it may be kept by its revision.
    """

    revision: int
    key: Key
    before: Entry | None
    after: Entry | None


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write `value`. `expected` is the mod_revision that must stand; 0: nothing; None: whatever."""

    key: Key
    value: bytes
    expected: int | None = None


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove what is there. `expected` as in Put; None: whatever, but something."""

    key: Key
    expected: int | None = None


class Check(msgspec.Struct, frozen=True, gc=False):
    """Write nothing, but fail unless `expected` stands. 0: nothing; None: whatever is there."""

    key: Key
    expected: int | None = None


Write = Put | Delete | Check


class Page(msgspec.Struct, frozen=True, gc=False):
    """A part of a list as of `revision`, by namespace and name.

    `more` is where the next page goes on (hand it in as `after`, with this `revision`), None at
    the end; `remaining` is how many come after this page.
    """

    entries: tuple[Entry, ...]
    revision: int
    remaining: int
    more: Place | None


class Keep(msgspec.Struct, frozen=True, gc=False):
    """How much of the past is kept: the last `revisions` and all that is younger than `age_s`.

    Whatever those say, values that have been replaced take at most `old_bytes` of memory.
    """

    revisions: int = 10_000
    age_s: float = 300.0
    old_bytes: int = 256 * 2**20

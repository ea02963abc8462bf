"""Trees to typed objects, with every fault at once, and objects to trees of any served version.

Whatever version was read, the object is v1; faults are told in the paths of the version that was
written. Rules of the API (limits, required fields) are `rules`', not asked here.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.model.faults import Fault
from dibs.model.kinds import Known


@dataclass(frozen=True, slots=True)
class Decoded:
    """`object` is None when the kind is not ours (`is_foreign`) or nothing could be made of it.

    Faulty fields are left out of `object`, which is usable for all else. `api_version` and `kind`
    are as written.
    """

    object: Known | None
    faults: tuple[Fault, ...] = ()
    api_version: str = ""
    kind: str = ""
    is_foreign: bool = False


def decode(tree: object, *, api_version: str = "", kind: str = "") -> Decoded:
    """Read one object; the keywords are what a typed list says of its items. Raises nothing."""
    raise NotImplementedError


def encode(item: Known, version: str = "v1") -> dict[str, object]:
    """Return the tree of `item` in a version of its kind, with what the API always writes.

    Raises Mistake when the kind has no such version.
    """
    raise NotImplementedError

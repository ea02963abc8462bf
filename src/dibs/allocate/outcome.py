"""What a question about one node is answered with: four outcomes, never confused.

`Allocated` and `Refused` are the two normal answers. `Failed` means the question itself can't be
decided, on this node or any other (an unknown class, a selector that doesn't compile); `TimedOut`
that the search was cut off. All are plain values: a refusal is never raised and never logged.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.allocate.overlaps import Overlap
from dibs.model.objects import AllocationResult
from dibs.supply.identity import DeviceId
from dibs.supply.ledger import Holder
from dibs.supply.pools import PoolFault
from dibs.supply.records import Record


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one device was not taken for one request.

    `code` is one of CODES and groups equal reasons; `text` is for people ("allocated to
    default/serve", "memory is 40Gi, selector wants >= 80Gi"). Devices refused for the same cause
    have the same text, so counting texts gives "4 allocated to default/serve". `overlaps` are the
    held devices because of which a partition has nothing to draw.
    """

    code: str
    text: str
    holder: Holder | None = None
    overlaps: tuple[Overlap, ...] = ()


CODES = (
    "held",  # another claim has it, or a share of it
    "selector",  # a CEL selector is false
    "selector-error",  # a CEL selector failed on it (only when errors are contained)
    "unreachable",  # its own node selection does not match
    "tainted",
    "capacity",  # it never had, or no longer has, the wanted capacity
    "capacity-error",  # an amount is negative or beyond what is reckoned with (likewise)
    "counter",  # the counters it draws from are exhausted
    "group",  # it has no compatibility group in common with what uses its card
    "binding-conditions",  # it needs a feature that is off
    "partition",  # likewise
    "node-operations",  # likewise, or its node doesn't declare that it can leave operations out
    "constraint",  # match or distinct constraint of the claim
    "derived-error",  # a derived attribute can't be worked out for it (likewise contained)
    "node-resource",  # the node has too little of the CPU or memory that it draws
    "in-use-here",  # picked already for this same Pod
    "pool",  # its pool is incomplete or invalid
)

# What ends the attempt on all nodes, unless errors are contained.
FATAL = ("selector-error", "capacity-error", "derived-error")


@dataclass(frozen=True, slots=True)
class DeviceNo:
    device: DeviceId
    reason: Reason


@dataclass(frozen=True, slots=True)
class AskNo:
    """How one request, or one alternative of it, fared on one node.

    `request` is "r" or "r/s". `wanted` is the number of devices (for mode All: how many match,
    at least 1), `candidates` how many devices the node's usable pools hold, `fit` how many of
    them are good for this request taken alone; `noes` has a reason for each other one, in
    candidate order, but for the last `untold` ones of a very large node. `note` says what `fit`
    can't: "matchAttribute resource.kubernetes.io/pcieRoot: largest group has 3 of 4".
    """

    claim: str  # namespace/name
    request: str
    wanted: int
    candidates: int
    fit: int
    noes: tuple[DeviceNo, ...] = ()
    note: str = ""
    # How people know the request, where its name says nothing to them: "nvidia.com/gpu of
    # container main" (KEP-5004).
    told: str = ""
    untold: int = 0

    @property
    def title(self) -> str:
        return self.told or f"request {self.request}"

    @property
    def is_short(self) -> bool:
        """Whether this request is a reason of its own, not only because of the others."""
        return self.fit < self.wanted or bool(self.note)


@dataclass(frozen=True, slots=True)
class Refused:
    """The claims can't all be satisfied on this node.

    `asks` has every request and alternative, in claim order. `note` is one sentence for the
    whole: what a list of nodes shows beside the node's name.
    """

    node: str
    pools: tuple[PoolFault, ...] = ()
    asks: tuple[AskNo, ...] = ()
    note: str = ""

    @property
    def culprit(self) -> AskNo | None:
        """The request that alone makes the node impossible, by its first alternative."""
        by_request: dict[tuple[str, str], list[AskNo]] = {}
        for ask in self.asks:
            by_request.setdefault((ask.claim, ask.request.partition("/")[0]), []).append(ask)
        for alternatives in by_request.values():
            if all(ask.is_short for ask in alternatives):
                return alternatives[0]
        return None


@dataclass(frozen=True, slots=True)
class Allocated:
    """One allocation a claim, in the order the claims were given, and what it draws from counters:
    to be kept on the claim, so that nobody has to guess it later (designs/031)."""

    node: str
    allocations: tuple[AllocationResult, ...]
    steps: int = 0
    records: tuple[tuple[Record, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """Fatal for every node: the claim, a class or a slice is wrong in a way that `message` says."""

    node: str
    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The search used up its budget of steps: neither yes nor no."""

    node: str
    message: str
    steps: int = 0


Outcome = Allocated | Refused | Failed | TimedOut

"""The nouns of a decision: what was decided for whom, and which writes would make it so.

`Plan` holds one `Decision` a subject, in the order in which they were taken; each saw what the
earlier ones took. A decision is `Placed`, `Waits`, `Broken` or `Settled`, never an exception.
How they come about is in `pods`; what they look like in `view`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dibs.allocate.outcome import Allocated, Failed, Refused, TimedOut
from dibs.index.bits import Set
from dibs.model.core import (
    ContainerExtendedResourceRequest,
    NodeAllocatableResourceClaimStatus,
    PodExtendedResourceClaimStatus,
)
from dibs.model.objects import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
from dibs.model.workloads import PodGroup
from dibs.schedule.snapshot import Key

Kind = Literal["Pod", "ResourceClaim"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is decided on: a Pod with all its claims, or a claim that no Pod uses."""

    kind: Kind
    key: Key

    def __str__(self) -> str:
        return f"{'pod' if self.kind == 'Pod' else 'claim'} {self.key}"


# --- why not ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a node is out before any device is looked at, or a subject before any node is.

    `about` is the closed set of causes: what a reader (or a suggestion) may act on. `text` is
    the same for all nodes that are out for one cause; `detail` is what this one has instead.
    """

    about: Literal[
        "gate",  # spec.schedulingGates
        "claim",  # a claim that isn't there, is being deleted, is full, or isn't the Pod's own
        "template",
        "class",
        "node name",  # preset: the scheduler passes the Pod by
        "nodes",  # the input has none
        "unschedulable",
        "taint",
        "node selector",
        "affinity",
        "pinned",  # an allocated claim is only available on other nodes
        "extended resource",  # asked for by name, and the node has too few, or none
        "group",  # its PodGroup isn't there
        "node resources",  # CPU, memory or Pods; also as drawn through claims (KEP-5517)
    ]
    text: str
    remedy: str = ""
    detail: str = ""


NodeAnswer: TypeAlias = Objection | Refused | TimedOut


class Reasons(Mapping[str, NodeAnswer]):
    """What each of some nodes said, worked out for whoever reads it: most plans are never asked.

    As a mapping it is like any other: equal to one with equal items. `names` gives the nodes in
    order, `answer` what one said; both are asked once, and must always say the same.
    """

    __slots__ = ("_answer", "_known", "_list", "_names")

    def __init__(
        self, names: Callable[[], Iterable[str]], answer: Callable[[str], NodeAnswer]
    ) -> None:
        self._names = names
        self._answer = answer
        self._list: dict[str, None] | None = None
        self._known: dict[str, NodeAnswer] = {}

    def __getitem__(self, name: str) -> NodeAnswer:
        if name not in self._known:
            if name not in self._all():
                raise KeyError(name)
            self._known[name] = self._answer(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(dict(self))

    def _all(self) -> dict[str, None]:
        if self._list is None:
            self._list = dict.fromkeys(self._names())
        return self._list


# --- decisions ----------------------------------------------------------------------------------

# Which nodes were asked for what and said no: what the next state need not ask again.
Noes: TypeAlias = Mapping[bytes, Set]


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """One claim of a subject as it stands after the decision, and how it came to stand so."""

    entry: str  # the name in pod.spec.resourceClaims; "" for a claim without Pod
    claim: ResourceClaim
    is_new: bool = False  # made from a template by this plan
    is_fresh: bool = False  # allocated by this plan
    template: str = ""
    group: PodGroup | None = None  # with whose Pods it is shared (KEP-5729)
    # Which container's resource is served by which request: of the special claim only (KEP-5004).
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """`passed_over` are the nodes before `node`, each with why it didn't do."""

    subject: Subject
    node: str
    claims: tuple[ClaimUse, ...]
    passed_over: Mapping[str, NodeAnswer] = field(default_factory=dict)
    outcome: Allocated | None = None  # None when nothing had to be allocated
    # What the Pod draws from the node through its claims (KEP-5517).
    natives: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    noes: Noes = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Waits:
    """A refusal: `objections` stand against every node, `nodes` has each node's own reason."""

    subject: Subject
    claims: tuple[ClaimUse, ...] = ()
    objections: tuple[Objection, ...] = ()
    nodes: Mapping[str, NodeAnswer] = field(default_factory=dict)
    noes: Noes = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Broken:
    """The attempt ended on `node` for all nodes, as with a selector that fails (allocator §1)."""

    subject: Subject
    node: str
    failed: Failed
    claims: tuple[ClaimUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing to decide: the Pod has its node, or is done. `node` is "" when it never had one."""

    subject: Subject
    node: str
    claims: tuple[ClaimUse, ...] = ()


Decision: TypeAlias = Placed | Waits | Broken | Settled


# --- writes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateClaim:
    """A claim made from a template, which the Pod's status entry is to name; or, with entry "",
    the special claim for extended resources."""

    claim: ResourceClaim
    pod: Key
    entry: str
    group: Key | None = None  # whose status is to name it too


@dataclass(frozen=True, slots=True)
class WriteAllocation:
    """`drawn` is the annotation that says what it draws from counters; "" for nothing."""

    claim: Key
    allocation: AllocationResult
    drawn: str = ""


@dataclass(frozen=True, slots=True)
class AddReservation:
    claim: Key
    consumer: ResourceClaimConsumerReference


@dataclass(frozen=True, slots=True)
class RecordInPod:
    """What the scheduler adds to a Pod's status before it binds it (KEP-5004, KEP-5517)."""

    pod: Key
    extended: PodExtendedResourceClaimStatus | None
    natives: tuple[NodeAllocatableResourceClaimStatus, ...]


@dataclass(frozen=True, slots=True)
class BindPod:
    pod: Key
    node: str


Write: TypeAlias = CreateClaim | WriteAllocation | AddReservation | RecordInPod | BindPod


@dataclass(frozen=True, slots=True)
class Plan:
    """Every decision in order, and every write in the order in which it must be made."""

    decisions: tuple[Decision, ...] = ()
    writes: tuple[Write, ...] = ()

    def of(self, subject: Subject) -> Decision | None:
        return next((d for d in self.decisions if d.subject == subject), None)

    @property
    def is_complete(self) -> bool:
        """True when nobody waits."""
        return not any(isinstance(d, Waits | Broken) for d in self.decisions)

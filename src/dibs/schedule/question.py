"""What is asked of every node for one Pod, or one claim: who says yes, and why the others don't.

Which nodes the Pod may go to, and what each is asked for, follows from the Pod; which of them can
give it is found by `index` and decided in `allocate`. Without an index the nodes are asked in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Failed, Refused, TimedOut
from dibs.allocate.spare import Spare
from dibs.index import bits, deciding, wants, which
from dibs.index.bits import Set
from dibs.index.deciding import Barrier, Found, Part
from dibs.index.index import Index
from dibs.model.core import Node, Pod
from dibs.model.objects import ResourceClaim
from dibs.schedule import extended, footprint, natives, nodes, reasons, room
from dibs.schedule.extended import Special
from dibs.schedule.footprint import Amounts
from dibs.schedule.natives import Needs
from dibs.schedule.plan import (
    ClaimUse,
    NodeAnswer,
    Objection,
)
from dibs.schedule.reasons import Asked
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of one node: claims that have no devices yet, and of them the last may be
    the special one (KEP-5004). `key` is equal for wishes that want the same.
    """

    claims: tuple[ResourceClaim, ...]
    special: Special | None
    containers: tuple[int, ...]  # how many of them refer to each claim
    key: bytes

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(key_of(claim.metadata) for claim in self.claims)

    def in_words(self, refused: Refused) -> Refused:
        """The refusal with the requests of the special claim told as what containers ask for."""
        if self.special is None:
            return refused
        titles: dict[str, str] = {}
        for each in self.special.mappings:
            # Of an init container only what is its own.
            text = f"{each.resource_name} of container {each.container_name}"
            titles.setdefault(each.request_name, text)
        own = str(key_of(self.special.claim.metadata))
        asks = tuple(
            replace(ask, told=titles.get(ask.request, "")) if ask.claim == own else ask
            for ask in refused.asks
        )
        return replace(refused, asks=asks)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every node: the same Pod, the same claims.

    `pinned` are its claims that have their devices, `named` the extended resources that it asks
    for, each with its number: who serves those differs from node to node. `room` is what must be
    free of a node's own.
    """

    state: State
    pod: Pod | None
    open_claims: tuple[ResourceClaim, ...]
    pinned: tuple[ResourceClaim, ...]
    named: Mapping[str, int]
    uses: tuple[ClaimUse, ...]
    needs: Needs
    room: Amounts
    # The wishes by what they have of `special`, each worked out once.
    wishes: dict[tuple[str, ...], Wish | Objection] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, pod: Pod | None, uses: tuple[ClaimUse, ...]) -> Question:
        # Two entries of a Pod may name the same claim: it is asked for once.
        claims = {key_of(use.claim.metadata): use.claim for use in uses}.values()
        open_claims = tuple(claim for claim in claims if claim.status.allocation is None)
        return cls(
            state,
            pod,
            open_claims,
            tuple(claim for claim in claims if claim.status.allocation is not None),
            extended.wanted(pod) if pod else {},
            uses,
            Needs.of(pod, uses, state),
            room.wanted(pod) if pod is not None else footprint.NOTHING,
        )

    def wish(self, name: str) -> Wish | Objection:
        """What is wanted of a node; nodes without device plugins are all asked for the same."""
        missing: tuple[str, ...] = ()
        if self.named:
            node = self.state.nodes[name]
            missing = tuple(each for each in self.named if not extended.is_plugged(each, node))
        return self.wish_of(missing)

    def wish_of(self, missing: tuple[str, ...]) -> Wish | Objection:
        """What is wanted where no device plugin has these resources."""
        known = self.wishes.get(missing)
        if known is None:
            known = self.wishes[missing] = self.wish_with(missing)
        return known

    def wish_with(self, names: tuple[str, ...]) -> Wish | Objection:
        special = extended.special(self.pod, names, self.state.snapshot) if self.pod else None
        if isinstance(special, Objection):
            return special
        claims = (*self.open_claims, special.claim) if special is not None else self.open_claims
        mappings = special.mappings if special is not None else ()
        counts: tuple[int, ...] = ()
        key = wants.key_of(claims)
        if self.state.natives:
            counts = natives.referring(self.pod, claims, self.uses, mappings)
            key += f" {counts} {self.needs}".encode()
        return Wish(claims, special, counts, key)

    # --- asking ---

    def put(self) -> Found:
        """Ask the nodes, as things stand, until one says yes."""
        index = self.state.index
        if index is None or self.state.options.node:
            return self.put_in_turn()
        assert index.ledger is self.state.ledger, "an index follows the ledger"
        return deciding.among(
            index,
            self.parts(index),
            self.state.snapshot.classes,
            self.options(),
            self.state.answers,
            self.barrier() if self.room or self.named or self.needs.pinned else None,
        )

    def put_in_turn(self) -> Found:
        """The same, node by node: what `put` must find, if more slowly."""
        timed_out: dict[str, TimedOut] = {}
        order = node_order(self.state)
        for place, name in enumerate(order):
            if len(timed_out) == deciding.PATIENCE:
                return Found(None, {}, timed_out, frozenset(order[place:]))
            node = self.state.nodes[name]
            wish = None if self.objection(node) else self.wish(name)
            if not isinstance(wish, Wish):
                continue
            outcome = ask(self.state, node, wish.claims, self.spare(node, wish), self.options())
            if isinstance(outcome, Allocated | Failed):
                return Found(outcome, {}, timed_out)
            if isinstance(outcome, TimedOut):
                timed_out[name] = outcome
        return Found(None, {}, timed_out)

    def options(self) -> allocator.Options:
        return allocator.Options(order=self.state.options.order, explain=False)

    def parts(self, index: Index) -> list[Part]:
        """Who may be asked for what: nodes with other device plugins are asked for other claims."""
        within = index.roster.all
        if self.pod is not None:
            within = nodes.allowed(self.pod, index.roster)
        within = nodes.reaching(self.pinned, index.roster, within)
        split: list[tuple[Set, tuple[str, ...]]] = [(within, ())]
        for name in self.named:
            plugged = index.roster.plugged.get(name, bits.NONE)
            split = [
                part
                for members, missing in split
                for part in ((members & plugged, missing), (members & ~plugged, (*missing, name)))
                if part[0]
            ]
        parts = []
        for members, missing in split:
            wish = self.wish_of(missing)
            if isinstance(wish, Wish):
                spare = partial(self.spare, wish=wish) if self.state.natives else None
                parts.append(Part(members, wish.claims, wish.key, spare))
        return parts

    def spare(self, node: Node, wish: Wish) -> Spare | None:
        return natives.spare(self.needs, node, self.state, wish.containers)

    def before(self, name: str) -> Iterable[str]:
        """The nodes that come before this one, in order."""
        state, index = self.state, self.state.index
        if index is None or state.options.node:
            order = node_order(state)
            return order[: order.index(name)]
        number = index.roster.number[name]
        earlier = which.before(number, state.options.order, index.layout, index.standing)
        return [index.roster.names[each] for each in earlier]

    # --- why a Pod may not go there, whatever devices there are ---

    def used(self, node: str) -> Amounts:
        return self.state.used.get(node, footprint.NOTHING)

    def objection(self, node: Node) -> Objection | None:
        return (
            (nodes.objection(self.pod, node) if self.pod else None)
            or nodes.pinned_elsewhere(self.pinned, node)
            or self.shortage(node)
        )

    def shortage(self, node: Node) -> Objection | None:
        """What the node has too little of, devices aside."""
        used = self.used(node.metadata.name)
        served = self.state.snapshot.served
        return (
            room.objection(self.room, node, used)
            or extended.objection(self.named, node, used, served)
            or natives.objection(self.needs, node, self.state)
        )

    def is_out(self, node: Node) -> bool:
        short = room.lacking(self.room, node, self.used(node.metadata.name))
        return bool(short) or self.shortage(node) is not None

    def barrier(self) -> Barrier:
        """Who is out for want of its own is so for every Pod that wants the same of it."""
        wanted = [f"{name}={amount}" for name, amount in self.room.items()]
        if self.named or self.needs.pinned:
            wanted += [f"{self.named} {self.needs} {sorted(self.state.natives)}"]
        return Barrier(" ".join(("room", *wanted)).encode(), self.is_out)

    # --- why not, for who reads it ---

    def answering(self, found: Found) -> Callable[[str], NodeAnswer]:
        """What each node that wasn't taken said, or would have said."""

        def answer(name: str) -> NodeAnswer:
            node = self.state.nodes[name]
            wish = self.objection(node) or self.wish(name)
            if isinstance(wish, Objection):
                return wish
            if name in found.timed_out:
                return found.timed_out[name]
            if name in found.unasked:
                text = f"not asked, since {len(found.timed_out)} nodes gave up before"
                return TimedOut(name, text)
            asked = Asked(wish.claims, wish.key, self.spare(node, wish))
            return wish.in_words(reasons.of(self.state, node, asked))

        return answer


def node_order(state: State) -> list[str]:
    """The names of the nodes as they are asked."""
    if state.options.order == "first-fit":
        return list(state.nodes)
    return sorted(state.nodes, key=lambda name: (free_devices(state, state.nodes[name]), name))


def free_devices(state: State, node: Node) -> int:
    return sum(
        state.ledger.held(candidate.id).is_free
        for pool in state.supply.pools(node)
        for candidate in pool.candidates
    )


def ask(
    state: State,
    node: Node,
    open_claims: Sequence[ResourceClaim],
    spare: Spare | None = None,
    options: allocator.Options | None = None,
) -> Allocated | Refused | Failed | TimedOut:
    """Put the question of the devices to one node, as things stand."""
    return allocator.allocate(
        node,
        open_claims,
        state.supply,
        state.ledger,
        state.snapshot.classes,
        options or allocator.Options(order=state.options.order),
        state.answers,
        spare,
    )

"""Why a node refused a wish, in full; what was told once is told again while nothing there changed.

Nobody is decided on here: the reasons of a refusal are those of `allocate`, for the claims that ask
now. Nodes that reach the same devices are told of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from dibs.allocate import allocator
from dibs.allocate.outcome import DeviceNo, Refused
from dibs.allocate.spare import Spare
from dibs.index import bits
from dibs.model.core import Node
from dibs.model.objects import ResourceClaim
from dibs.schedule.snapshot import Key, key_of
from dibs.schedule.state import State, Told
from dibs.supply.identity import DeviceId
from dibs.supply.stock import Pool


@dataclass(frozen=True, slots=True)
class Asked:
    """Claims that a node refused; `key` is equal for claims that want the same."""

    claims: tuple[ResourceClaim, ...]
    key: bytes
    spare: Spare | None

    @property
    def names(self) -> tuple[Key, ...]:
        return tuple(key_of(claim.metadata) for claim in self.claims)


def of(state: State, node: Node, asked: Asked) -> Refused:
    """The reasons of one node, which did refuse these claims."""
    twin = standing_for(state, node) if asked.spare is None else node
    key = twin.metadata.name, asked.key
    told = state.told.get(key)
    if told is None or not stands(told, state, twin):
        found = allocator.reasons(
            twin,
            asked.claims,
            state.supply,
            state.ledger,
            state.snapshot.classes,
            allocator.Options(order=state.options.order),
            state.answers,
            asked.spare,
        )
        assert isinstance(found, Refused), "what fails does so when it is asked"
        used = state.used.get(twin.metadata.name)
        names = asked.names
        is_named = mentions(found, names)
        told = Told(state.ledger, state.supply, twin, used, names, found, is_named)
        state.told.put(key, told)
    refused = renamed(told, asked.names)
    return refused if twin is node else replace(refused, node=node.metadata.name)


def stands(told: Told, state: State, node: Node) -> bool:
    """Whether the reasons would be the same now: nothing that the node sees is held otherwise."""
    if told.node is not node or told.supply is not state.supply:
        return False
    # What Pods beside it take of a node matters only where devices draw from it.
    if state.natives and told.used is not state.used.get(node.metadata.name):
        return False
    if told.ledger is state.ledger:
        return True
    before, now = told.ledger, state.ledger
    pools = state.supply.pools(node)
    return all(
        before.recorded.get(pool.id) == now.recorded.get(pool.id)
        and all(before.held(each) == now.held(each) for each in drawing_on(pool, state))
        for pool in pools
    )


def drawing_on(pool: Pool, state: State) -> Iterator[DeviceId]:
    """All devices that can be in each other's way in a pool."""
    published = (each.id for each in chain(pool.candidates, pool.elsewhere))
    return chain(published, state.ledger.recorded.get(pool.id, ()))


def standing_for(state: State, node: Node) -> Node:
    """The first node that sees the same devices and can say nothing else of them."""
    index = state.index
    if index is None or state.options.node:
        return node
    number = index.roster.number[node.metadata.name]
    trays = [tray for tray in index.layout.wide if tray.viewers >> number & 1]
    # Where devices differ in who reaches them, or can do without, reasons name the node.
    if any(tray.load.skips or len(tray.load) < len(tray.load.pool.candidates) for tray in trays):
        return node
    return index.roster.nodes[bits.first(index.layout.twins(number))]


def mentions(refused: Refused, keys: Sequence[Key]) -> bool:
    """Whether a reason, or what is noted beside a request, may name one of the claims."""
    texts = chain(
        (ask.note for ask in refused.asks),
        (no.reason.text for ask in refused.asks for no in ask.noes),
    )
    names = [str(key) for key in keys]
    return any(name in text for text in texts for name in names)


def renamed(told: Told, keys: Sequence[Key]) -> Refused:
    """What was told, of the claims that ask now."""
    if told.claims == keys:
        return told.refused
    names = {str(old): str(new) for old, new in zip(told.claims, keys, strict=True)}
    # Whole names only: default/x is no part of default/x-2.
    pattern = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, names))})(?![\w.-])")

    def text(old: str) -> str:
        if not any(name in old for name in names):
            return old
        return pattern.sub(lambda found: names[found[1]], old)

    def reason(no: DeviceNo) -> DeviceNo:
        word = text(no.reason.text)
        return no if word == no.reason.text else replace(no, reason=replace(no.reason, text=word))

    asks = tuple(replace(ask, claim=names[ask.claim]) for ask in told.refused.asks)
    if told.is_named:
        asks = tuple(
            replace(ask, note=text(ask.note), noes=tuple(map(reason, ask.noes))) for ask in asks
        )
    return replace(told.refused, asks=asks, note=text(told.refused.note))

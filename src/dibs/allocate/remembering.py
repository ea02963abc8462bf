"""What the picks of a full draft draw from counters, to be kept with the claims (designs/031).

The amounts are those the search reckoned with. How they are written on a claim is
`supply.records`', who reads them again the ledger and `counters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dibs.allocate.draft import Draft, Pick
from dibs.allocate.scene import Scene
from dibs.model.objects import AllocationResult
from dibs.request.asks import Wish
from dibs.supply.records import Record


def of(
    draft: Draft,
    wishes: Sequence[Wish],
    allocations: Sequence[AllocationResult],
    scene: Scene,
) -> tuple[tuple[Record, ...], ...]:
    """One tuple a claim, in order; empty for a claim none of whose devices draws."""
    if "grouped" not in scene.shelf.traits:
        return ((),) * len(wishes)
    return tuple(
        tuple(
            _record(pick, result.share_id, scene)
            for pick, result in zip(_picks(draft, wish), allocation.devices.results, strict=True)
            if pick.candidate.groups and not pick.ask.is_admin
        )
        for wish, allocation in zip(wishes, allocations, strict=True)
    )


def _picks(draft: Draft, wish: Wish) -> Iterable[Pick]:
    return (pick for pick in draft.picks if pick.ask.claim_number == wish.number)


def _record(pick: Pick, share: str | None, scene: Scene) -> Record:
    candidate = pick.candidate
    metered, _ = scene.metered(pick.ask, candidate)
    return Record(candidate.id, share, dict(candidate.draws), dict(metered), dict(candidate.groups))

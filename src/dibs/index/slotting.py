"""Planes over slots: for each slot the set of nodes on which something holds of the device in it.

What holds is told tray by tray; trays of which the same is told at the same slots are entered
together, so that a cluster of equal nodes costs one entry. Nodes whose trays are as they were keep
their bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from dibs.index import bits
from dibs.index.bits import Planes, Set
from dibs.index.layout import Layout
from dibs.index.loading import Tray

# What holds of a tray's devices: a bit for each.
Told = Callable[[Tray], Set]

Said = TypeVar("Said")


def planes(layout: Layout, told: Told) -> Planes:
    """The planes of a whole layout, one a slot."""
    return _entered([bits.NONE] * layout.slots, layout, range(len(layout.slotted)), told)


def patched(old: Planes, before: Layout, layout: Layout, told: Told) -> Planes:
    """The planes of a layout, from those of an earlier one."""
    numbers = changed(before, layout)
    if numbers is None:
        return planes(layout, told)
    kept = ~bits.of(numbers, max(len(before.slotted), len(layout.slotted)))
    fresh = [plane & kept for plane in old] if numbers else list(old)
    fresh += [bits.NONE] * (layout.slots - len(fresh))
    return _entered(fresh, layout, numbers, told)


def changed(before: Layout, layout: Layout) -> Sequence[int] | None:
    """The nodes whose trays are others, or are no more; None when nodes have other numbers."""
    if before.roster.numbering is not layout.roster.numbering:
        return None
    pairs = zip_longest(before.slotted, layout.slotted, fillvalue=())
    return [n for n, (then, now) in enumerate(pairs) if then is not now]


def alike(
    layout: Layout, numbers: Iterable[int], told: Callable[[Tray], Said]
) -> Iterator[tuple[int, Said, Tray, Set]]:
    """Trays of which the same is told at the same slot: the slot, what is told, one, the nodes."""
    found: dict[tuple[int, Said], tuple[Tray, list[int]]] = {}
    size = len(layout.slotted)
    for number in numbers:
        for tray in layout.slotted[number] if number < size else ():
            assert tray.slot is not None, "trays without slots are wide"
            key = tray.slot, told(tray)
            known = found.get(key)
            if known is None:
                found[key] = tray, [number]
            else:
                known[1].append(number)
    for (slot, what), (tray, members) in found.items():
        yield slot, what, tray, _set(members, size)


def _entered(fresh: list[Set], layout: Layout, numbers: Iterable[int], told: Told) -> Planes:
    by_slot: dict[tuple[int, Set], list[int]] = defaultdict(list)
    size = len(layout.slotted)
    for number in numbers:
        for tray in layout.slotted[number] if number < size else ():
            assert tray.slot is not None, "trays without slots are wide"
            if holds := told(tray):
                by_slot[tray.slot, holds].append(number)
    for (slot, holds), members in by_slot.items():
        nodes = _set(members, size)
        for place in bits.numbers(holds):
            fresh[slot + place] |= nodes
    return tuple(fresh)


def _set(members: list[int], size: int) -> Set:
    return 1 << members[0] if len(members) == 1 else bits.of(members, size)

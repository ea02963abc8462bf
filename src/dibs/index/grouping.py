"""Devices by what a test looks at: groups of those that look alike, slot by slot.

A test with the same look asks one device of each group. From the groups of one layout those of
another are made by looking again only at nodes whose trays are others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from dibs.index import bits, slotting
from dibs.index.bits import Set
from dibs.index.layout import Layout
from dibs.index.loading import Load, Tray
from dibs.index.looks import Look
from dibs.supply.published import Candidate

# Groups of one look beyond which devices are asked one by one.
FINEST = 1_024


@dataclass(slots=True)
class Group:
    """Devices that look alike: one of them, and where they are."""

    candidate: Candidate
    slots: dict[int, Set] = field(default_factory=dict)
    wide: dict[Load, Set] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The devices of a layout by their look; no groups when there would be too many."""

    layout: Layout
    groups: Mapping[Hashable, Group] | None

    def __len__(self) -> int:
        return len(self.groups) if self.groups is not None else 1


def grouped(layout: Layout, look: Look, known: Grouping | None) -> Grouping:
    """From what is known of an earlier layout, if anything is."""
    numbers: Sequence[int] | None = None
    if known is not None and known.groups is not None:
        numbers = slotting.changed(known.layout, layout)
    elif known is not None and slotting.changed(known.layout, layout) is not None:
        # It was too fine; a few changes don't make it coarse.
        return Grouping(layout, None)
    if known is None or known.groups is None or numbers is None:
        return Grouping(layout, _entered({}, layout, range(len(layout.slotted)), look))
    kept = ~bits.of(numbers, max(len(known.layout.slotted), len(layout.slotted)))
    groups = {
        seen: Group(
            group.candidate,
            {slot: left for slot, nodes in group.slots.items() if (left := nodes & kept)},
            {load: places for load, places in group.wide.items() if load in layout.reach},
        )
        for seen, group in known.groups.items()
    }
    groups = {seen: group for seen, group in groups.items() if group.slots or group.wide}
    return Grouping(layout, _entered(groups, layout, numbers, look))


def _entered(
    groups: dict[Hashable, Group], layout: Layout, numbers: Sequence[int], look: Look
) -> dict[Hashable, Group] | None:
    """With the trays of these nodes, and the wide ones that are new; None when it gets too fine."""

    def told(tray: Tray) -> tuple[Hashable, ...]:
        return tuple([look.at(candidate) for candidate in tray.load.candidates])

    known = {load for group in groups.values() for load in group.wide}
    for slot, seen, tray, nodes in slotting.alike(layout, numbers, told):
        for place, each in enumerate(seen):
            group = groups.get(each)
            if group is None:
                if len(groups) >= FINEST:
                    return None
                group = groups[each] = Group(tray.load.candidates[place])
            group.slots[slot + place] = group.slots.get(slot + place, bits.NONE) | nodes
    for tray in layout.wide:
        if tray.load in known:
            continue
        members: dict[Hashable, list[int]] = {}
        for place, each in enumerate(told(tray)):
            members.setdefault(each, []).append(place)
        if len(groups) + len(members) > FINEST:
            return None
        for each, places in members.items():
            group = groups.setdefault(each, Group(tray.load.candidates[places[0]]))
            group.wide[tray.load] = bits.of(places, len(tray.load))
    return groups

"""Why devices can't be had, counted: one line for all devices with the same reason.

Reasons that differ in a figure only are told together: partitions that overlap one held device
are each short of another memory slice, and of six profiles all but one are the wrong one. What is
cut off when there are too many are the reasons that nobody can change, never who holds what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dibs.allocate import overlaps
from dibs.allocate.outcome import AskNo, DeviceNo
from dibs.view import runs, words
from dibs.view.tree import Tree

MOST = 10

# What `request.phrases` says of a simple comparison that is false.
COMPARED = re.compile(r"(?P<name>\S+) is (?P<value>.+), (?P<rest>selector wants .+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason and for how many devices it holds.

    `is_use` tells that others hold something, `is_wish` that the request does not want them.
    """

    text: str
    count: int
    is_use: bool = False
    is_wish: bool = False


def every(ask: AskNo) -> tuple[Tree, ...]:
    """Each device with its own reason."""
    return tuple(Tree(no.reason.text, label=no.device.device) for no in ask.noes)


def uncounted(ask: AskNo) -> tuple[Tree, ...]:
    """That a very large node has more devices than reasons are told for, if so."""
    if not ask.untold:
        return ()
    text = "further devices don't fit either; their reasons aren't told"
    return (Tree(text, label=str(ask.untold)),)


def counted(found: Iterable[Cause]) -> tuple[Tree, ...]:
    """The causes as lines: what keeps wanted devices away first, then the most frequent first."""
    causes = sorted(found, key=lambda cause: (cause.is_wish, -cause.count, cause.text))
    if len(causes) > MOST:
        causes.sort(key=lambda cause: not cause.is_use)
        rest = causes[MOST:]
        more = sum(cause.count for cause in rest)
        causes[MOST:] = [Cause(f"for {len(rest)} more reasons; -v lists every device", more)]
    return tuple(Tree(cause.text, label=str(cause.count)) for cause in causes)


def on_one_node(noes: Sequence[DeviceNo]) -> list[Cause]:
    """The causes of one node, every holder by name."""
    return [*compared(noes), *overlapping(noes), *others(noes)]


def on_many_nodes(noes: Sequence[DeviceNo], everywhere: Sequence[DeviceNo]) -> list[Cause]:
    """The causes that alike nodes share; `everywhere` has the devices of all of them."""
    found = compared(noes) + [cause for cause in others(noes) if not cause.is_use]
    held = sum(no.reason.holder is not None for no in noes)
    if held:
        claims = [no.reason.holder.claim for no in everywhere if no.reason.holder is not None]
        found.append(Cause(f"allocated to other claims: {distinct(claims)}", held, True))
    inside = sum(bool(no.reason.overlaps) for no in noes)
    if inside:
        claims = [each.claim for no in everywhere for each in no.reason.overlaps]
        found.append(Cause(f"overlaps what other claims hold: {distinct(claims)}", inside, True))
    return found


def distinct(claims: Iterable[str]) -> str:
    return words.listed(list(dict.fromkeys(claims)))


def compared(noes: Iterable[DeviceNo]) -> list[Cause]:
    """Selectors: `profile is "2g.20gb", "3g.40gb", selector wants "1g.10gb"` is one cause."""
    values: dict[tuple[str, str], dict[str, int]] = {}
    for no in noes:
        if no.reason.code == "selector" and (parts := COMPARED.fullmatch(no.reason.text)):
            by_value = values.setdefault((parts["name"], parts["rest"]), {})
            by_value[parts["value"]] = by_value.get(parts["value"], 0) + 1
    return [
        Cause(
            f"{name} is {words.listed(list(by_value))}, {rest}",
            sum(by_value.values()),
            is_wish=True,
        )
        for (name, rest), by_value in values.items()
    ]


def overlapping(noes: Iterable[DeviceNo]) -> list[Cause]:
    """Partitions, by the held devices they overlap, with the counters that are used up."""
    groups: dict[str, list[DeviceNo]] = {}
    for no in noes:
        if no.reason.overlaps:
            # Who gets it by the plan only has a text of its own: refusals.with_turns.
            plain = overlaps.text_of(no.reason.overlaps)
            text = plain if no.reason.text.startswith(plain) else no.reason.text
            groups.setdefault(text, []).append(no)
    return [Cause(f"{text} ({used(alike)})", len(alike), True) for text, alike in groups.items()]


def used(noes: Iterable[DeviceNo]) -> str:
    """`memory-slice-0 … 3 of gpu-1`."""
    sets: dict[str, dict[str, None]] = {}
    for no in noes:
        for overlap in no.reason.overlaps:
            for counter in overlap.counters:
                sets.setdefault(counter.set, {})[counter.name] = None
    return "; ".join(f"{runs.text_of(list(names))} of {owner}" for owner, names in sets.items())


def others(noes: Iterable[DeviceNo]) -> list[Cause]:
    """Whatever has no figures to be told together."""
    counts: dict[tuple[str, bool, bool], int] = {}
    for no in noes:
        if no.reason.overlaps:
            continue
        if no.reason.code == "selector" and COMPARED.fullmatch(no.reason.text):
            continue
        key = no.reason.text, no.reason.holder is not None, no.reason.code == "selector"
        counts[key] = counts.get(key, 0) + 1
    return [Cause(text, count, held, wish) for (text, held, wish), count in counts.items()]

"""Where upstream is known to answer otherwise, as data: which worlds a known difference explains.

`differences.yaml` lists the differences, and when each applies: the two outcomes, and marks that
the world must bear. A mark is a feature that a world has or hasn't (`MARKS`). Marks are looked for
in the smallest world that still differs, in which nothing is left that the difference doesn't
need; only where upstream's own message names the defect (`says`) the world may be a large one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dibs.values.quantity import Quantity

Tree = Mapping[str, Any]

FILE = Path(__file__).with_name("differences.yaml")
ISSUES = "https://github.com/kubernetes/kubernetes/issues"


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of the file. `answers` are pairs "ours/theirs" of outcomes; none where it is fixed."""

    name: str
    row: Mapping[str, str]
    answers: frozenset[str]
    has: frozenset[str]
    lacks: frozenset[str]
    says: str

    def explains(self, question: Tree, ours: Tree, theirs: Tree, *, is_smallest: bool) -> bool:
        if f"{ours.get('outcome')}/{theirs.get('outcome')}" not in self.answers:
            return False
        if self.says:
            return re.search(self.says, theirs.get("message", "")) is not None
        found = marks(question)
        return is_smallest and self.has <= found and not self.lacks & found


def read(file: Path = FILE) -> tuple[Difference, ...]:
    rows = yaml.safe_load(file.read_text())
    return tuple(_difference(row) for row in rows)


def _difference(row: Tree) -> Difference:
    when = row.get("when", {})
    has, lacks = frozenset(when.get("has", ())), frozenset(when.get("lacks", ()))
    for mark in has | lacks:
        assert mark in MARKS, f"{row['name']}: there is no mark {mark!r}"
    texts = {key: str(value) for key, value in row.items() if key != "when"}
    answers = frozenset(when.get("answers", ()))
    return Difference(row["name"], texts, answers, has, lacks, when.get("says", ""))


def table(differences: Iterable[Difference]) -> str:
    """The rows as a table of differences.md."""
    heads = ("issue", "smallest world", "theirs", "ours, and why", "case")
    rows = [heads, ("---",) * len(heads), *(_cells(each.row) for each in differences)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _cells(row: Mapping[str, str]) -> tuple[str, ...]:
    issue = row.get("issue")
    where = f"[#{issue}]({ISSUES}/{issue})" if issue else "none found"
    file, _, name = row["case"].partition(": ")
    return where, row["world"], row["theirs"], row["ours"], f"{file}: *{name}*"


def marks(question: Tree) -> frozenset[str]:
    """All marks that the question bears."""
    return frozenset(name for name, is_there in MARKS.items() if is_there(question))


# --- what a world may have ---------------------------------------------------------------------


def _has_admin(question: Tree) -> bool:
    return any(wish.get("adminAccess") for wish in _wishes(question))


def _asks_for_all(question: Tree) -> bool:
    return any(wish.get("allocationMode") == "All" for wish in _wishes(question))


def _asks_for_several(question: Tree) -> bool:
    """Several devices for one request: a count above one, or all there are."""
    return _asks_for_all(question) or any(w.get("count", 1) > 1 for w in _wishes(question))


def _has_several_requests(question: Tree) -> bool:
    return sum(len(_requests(claim)) for claim in question["claims"]) > 1


def _has_several_claims(question: Tree) -> bool:
    return len(question["claims"]) > 1


def _has_alternatives(question: Tree) -> bool:
    return any(
        len(request.get("firstAvailable") or ()) > 1
        for claim in question["claims"]
        for request in _requests(claim)
    )


def _has_selectors(question: Tree) -> bool:
    return any(wish.get("selectors") for wish in _wishes(question))


def _constrains(kind: str) -> Callable[[Tree], bool]:
    return lambda question: any(
        kind in constraint
        for claim in question["claims"]
        for constraint in (claim.get("spec") or {}).get("devices", {}).get("constraints") or ()
    )


def _derives(question: Tree) -> bool:
    return any(wish.get("derivedAttributes") for wish in _wishes(question))


def _has_devices_with(field: str) -> Callable[[Tree], bool]:
    return lambda question: any(device.get(field) for device in _devices(question))


_has_shareable = _has_devices_with("allowMultipleAllocations")


def _has_lists(question: Tree) -> bool:
    lists = {"ints", "strings", "bools", "versions"}
    return any(
        lists & value.keys()
        for device in _devices(question)
        for value in (device.get("attributes") or {}).values()
    )


def _has_groups(question: Tree) -> bool:
    return any(
        draw.get("compatibilityGroups")
        for device in _devices(question)
        for draw in device.get("consumesCounters") or ()
    )


def _is_held_in_part(question: Tree) -> bool:
    return any(result.get("shareID") for result in _held(question))


def _is_held(question: Tree) -> bool:
    return any(True for _ in _held(question))


def _shares_what_is_whole(question: Tree) -> bool:
    """A share is held of a device that isn't shareable, or no longer."""
    shareable = {
        _key(slice_, device)
        for slice_ in question["slices"]
        for device in slice_["spec"].get("devices") or ()
        if device.get("allowMultipleAllocations")
    }
    return any(
        (result["driver"], result["pool"], result["device"]) not in shareable
        for result in _held(question)
        if result.get("shareID")
    )


def _has_namesakes(question: Tree) -> bool:
    """Pools of two drivers that have one name."""
    pools = {(s["spec"].get("driver"), s["spec"]["pool"].get("name")) for s in question["slices"]}
    return len(pools) > len({name for _, name in pools})


def _is_incomplete(question: Tree) -> bool:
    """A pool announces more slices than are there, of its newest generation."""
    found: dict[tuple[str, str], list[Tree]] = {}
    for slice_ in question["slices"]:
        spec = slice_["spec"]
        found.setdefault((spec.get("driver"), spec["pool"].get("name")), []).append(spec["pool"])
    for pools in found.values():
        newest = max(pool.get("generation", 0) for pool in pools)
        current = [pool for pool in pools if pool.get("generation", 0) == newest]
        if len(current) < current[0].get("resourceSliceCount", 0):
            return True
    return False


def _is_overdrawn(question: Tree) -> bool:
    """What is held draws more of a counter than there is."""
    drawn: Counter[tuple[str, str, str, str]] = Counter()
    held = {(each["driver"], each["pool"], each["device"]) for each in _held(question)}
    for slice_ in question["slices"]:
        for device in slice_["spec"].get("devices") or ():
            if _key(slice_, device) in held:
                for draw in device.get("consumesCounters") or ():
                    for name, counter in draw["counters"].items():
                        where = (*_key(slice_, device)[:2], draw["counterSet"], name)
                        drawn[where] += _milli(counter.get("value"))
    return any(
        drawn[spec.get("driver", ""), spec["pool"].get("name", ""), set_["name"], name]
        > _milli(counter.get("value"))
        for spec in (slice_["spec"] for slice_ in question["slices"])
        for set_ in spec.get("sharedCounters") or ()
        for name, counter in set_["counters"].items()
    )


def _is_in_two_modes(question: Tree) -> bool:
    """Of one counter set a device with compatibility groups is held, and one without."""
    ways: dict[tuple[str, str, str], set[bool]] = {}
    held = {(each["driver"], each["pool"], each["device"]) for each in _held(question)}
    for slice_ in question["slices"]:
        for device in slice_["spec"].get("devices") or ():
            if _key(slice_, device) in held:
                for draw in device.get("consumesCounters") or ():
                    where = (*_key(slice_, device)[:2], draw["counterSet"])
                    ways.setdefault(where, set()).add(bool(draw.get("compatibilityGroups")))
    return any(len(each) > 1 for each in ways.values())


def _draws_below_zero(question: Tree) -> bool:
    return any(
        _milli(counter.get("value")) < 0
        for device in _devices(question)
        for draw in device.get("consumesCounters") or ()
        for counter in draw["counters"].values()
    )


def _milli(amount: str | None) -> int:
    return Quantity.parse(amount or "0").milli_rounded_up()


def _switches(question: Tree) -> bool:
    return not all((question.get("features") or {}).values())


MARKS: Mapping[str, Callable[[Tree], bool]] = {
    "admin": _has_admin,
    "all": _asks_for_all,
    "several devices": _asks_for_several,
    "several requests": _has_several_requests,
    "several claims": _has_several_claims,
    "alternatives": _has_alternatives,
    "selectors": _has_selectors,
    "match": _constrains("matchAttribute"),
    "distinct": _constrains("distinctAttribute"),
    "derived": _derives,
    "counters": _has_devices_with("consumesCounters"),
    "shareable": _has_shareable,
    "shares": lambda question: _has_shareable(question) or _is_held_in_part(question),
    "taints": _has_devices_with("taints"),
    "binding": _has_devices_with("bindingConditions"),
    "lists": _has_lists,
    "groups": _has_groups,
    "held": _is_held,
    "held share": _is_held_in_part,
    "held share of a whole": _shares_what_is_whole,
    "namesakes": _has_namesakes,
    "incomplete": _is_incomplete,
    "overdrawn": _is_overdrawn,
    "held in two modes": _is_in_two_modes,
    "negative draws": _draws_below_zero,
    "switched off": _switches,
}


# --- reading a question ------------------------------------------------------------------------


def _requests(claim: Tree) -> list[Tree]:
    return list((claim.get("spec") or {}).get("devices", {}).get("requests") or ())


def _wishes(question: Tree) -> Iterator[Tree]:
    for claim in question["claims"]:
        for request in _requests(claim):
            yield from [each for each in [request.get("exactly")] if each]
            yield from request.get("firstAvailable") or ()


def _devices(question: Tree) -> Iterator[Tree]:
    for slice_ in question["slices"]:
        yield from slice_["spec"].get("devices") or ()


def _key(slice_: Tree, device: Tree) -> tuple[str, str, str]:
    spec = slice_["spec"]
    return spec.get("driver", ""), spec["pool"].get("name", ""), device.get("name", "")


def _held(question: Tree) -> Iterator[Tree]:
    for claim in question.get("allocated") or ():
        yield from claim["status"]["allocation"].get("devices", {}).get("results") or ()

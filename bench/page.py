"""docs/benchmarks.md, made of the kept results and of what findings.md says about them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence

from bench import cases, figures, plots, telling
from bench.case import SECTIONS
from bench.figures import ROOT, Record, is_met

PAGE = ROOT / "docs" / "benchmarks.md"
FINDINGS = ROOT / "bench" / "findings.md"

INTRODUCTION = """\
# Benchmarks

Made by `make bench` from [bench/results](../bench/results) and
[bench/findings.md](../bench/findings.md); don't edit. Both sides get the same objects in one run,
each on one thread. Figures are medians; absolute times differ from machine to machine, so compare
figures of one run. No test fails on a time.

**The peer** is upstream's allocator, the published Go module `k8s.io/dynamic-resource-allocation`
in the program of [conformance/oracle](../conformance/oracle), with CEL and its cache, and with the
features that are on by default. Where many nodes are asked, *peer* makes an allocator and asks
nodes until 100 fit, and *first node* until one does, which is dibs's question. kube-scheduler looks
for more than 100 by default (230 of 500 nodes, 500 of 5,000), in 16 threads. It is stopped at a
limit, and then its figure is that limit.
"""

_COLUMNS = ("benchmark", "dibs", "peer", "first node", "dibs is", "goal", "", "what it includes")


def write() -> None:
    """The page, and the plots if there is what draws them."""
    kept = figures.kept(case.name for case in cases.ALL)
    PAGE.write_text(page(kept, FINDINGS.read_text()))
    if not plots.draw(kept, PAGE.parent):
        print("no plots are drawn: matplotlib is missing; make bench installs it", file=sys.stderr)


def page(kept: Sequence[Record], findings: str) -> str:
    parts = [INTRODUCTION, measured_on(kept), summary(kept), findings]
    for section, title in SECTIONS.items():
        own = [record for record in kept if record["section"] == section]
        if own:
            parts.append(f"## {title}\n")
            if section in plots.CURVES:
                parts.append(f"![{title}]({plots.NAME.format(section)})\n")
            parts.append(table(own))
    parts.append(comparisons(kept))
    return "\n".join(parts)


def measured_on(kept: Sequence[Record]) -> str:
    """The machine, and which figures are of another one or of another day."""
    groups: dict[str, list[str]] = defaultdict(list)
    for record in kept:
        groups[f"{record['machine']}, {record['date']}"].append(record["name"])
    first, *others = sorted(groups, key=lambda each: -len(groups[each]))
    lines = [f"Measured on {first}."]
    lines += [f"On {other}: {', '.join(groups[other])}." for other in others]
    return "\n".join(lines) + "\n"


def summary(kept: Sequence[Record]) -> str:
    """How many goals are met, and by name those that are not."""
    missed = [record["name"] for record in kept if is_met(record) is False]
    goals = sum(record["goal"] is not None for record in kept)
    text = f"**Goals:** {goals - len(missed)} of {goals} are met"
    text += f"; not met: {', '.join(missed)}." if missed else "."
    return f"{text}{growth(kept)}\n"


def growth(kept: Sequence[Record]) -> str:
    """What ten times as many nodes cost, for which there is a goal, too."""
    costs = {record["name"]: record["dibs"] for record in kept}
    told = [
        f"{costs[f'gpu-5000x8-{fill}'] / costs[f'gpu-500x8-{fill}']:.2f} ({words})"
        for fill, words in (("half", "half held"), ("last", "one node free"))
        if f"gpu-5000x8-{fill}" in costs and f"gpu-500x8-{fill}" in costs
    ]
    return f" 5,000 nodes take {' and '.join(told)} times what 500 take; goal 1.5." if told else ""


def table(records: Sequence[Record]) -> str:
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---|" + "--:|" * 6 + "---|"]
    for record in records:
        notes = [record["includes"]]
        notes += [f"dibs: {record['note']}"] if record["note"] else []
        notes += [f"peer: {record['peer_note']}"] if record["peer_note"] else []
        cells = (
            record["name"],
            telling.amount(record["dibs"], record["unit"]),
            telling.peer(record),
            telling.first(record),
            telling.ratio(record),
            telling.goal(record),
            telling.verdict(record),
            "; ".join(notes),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def comparisons(kept: Sequence[Record]) -> str:
    """What flatters whom, each remark once, with the benchmarks that it is about."""
    remarks: dict[str, list[str]] = defaultdict(list)
    for record in kept:
        if record["flatters"]:
            remarks[record["flatters"]].append(record["name"])
    lines = ["## What flatters whom\n"]
    lines += [f"- {remark}. ({', '.join(names)})" for remark, names in remarks.items()]
    return "\n".join(lines) + "\n"

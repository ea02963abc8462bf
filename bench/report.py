"""Figures as JSON, as a table, and as docs/benchmarks.md; the docs are made from results alone."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cases import SCALE, Case
from bench.clock import Took

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """\
# Benchmarks

Made by `python -m bench --write` from [bench/results](../bench/results); don't edit. Medians of
several runs on the machine named below; `cpu` is the processor time in them, which a busy machine
disturbs less. Absolute times differ from machine to machine: compare figures of one run. The peer
is upstream's allocator (Go), which is not measured yet.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One result; `peer` is in the case's unit, `runs` how many the median is of."""

    case: Case
    took: Took
    peer: float | None
    runs: int
    machine: str

    @property
    def value(self) -> float:
        return self.took.clock_s * SCALE[self.case.unit]

    @property
    def cpu(self) -> float:
        return self.took.cpu_s * SCALE[self.case.unit]

    def record(self) -> dict[str, object]:
        return {
            "name": self.case.name,
            "unit": self.case.unit,
            "dibs": float(f"{self.value:.4g}"),
            "cpu": float(f"{self.cpu:.4g}"),
            "peer": self.peer,
            "ratio": None if self.peer is None else float(f"{self.value / self.peer:.4g}"),
            "n": self.runs,
            "machine": self.machine,
        }


def table(figures: Sequence[Figure]) -> str:
    rows = [("benchmark", "dibs", "cpu", "goal"), *(_row(figure) for figure in figures)]
    first, *others = (max(len(row[column]) for row in rows) for column in range(4))
    lines = []
    for name, *cells in rows:
        right = (cell.rjust(width) for cell, width in zip(cells, others, strict=True))
        lines.append("  ".join([name.ljust(first), *right]).rstrip())
    return "\n".join(lines)


def write(figures: Sequence[Figure]) -> None:
    """Keep each figure in its own file, then make the page from all that are kept."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        kept = {
            **figure.record(),
            "goal": figure.case.goal,
            "includes": figure.case.includes,
            "date": today,
            "system": platform.platform(terse=True),
        }
        path = RESULTS / f"{figure.case.name}.json"
        path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    PAGE.write_text(page([json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]))


def page(kept: Sequence[dict[str, object]]) -> str:
    parts = [INTRODUCTION]
    for machine, date in sorted({(str(each["machine"]), str(each["date"])) for each in kept}):
        parts.append(f"## {machine}, {date}\n")
        lines = ["| benchmark | dibs | cpu | goal | what it includes |", "|---|---|---|---|---|"]
        for each in kept:
            if (each["machine"], each["date"]) == (machine, date):
                unit = each["unit"]
                goal = "–" if each["goal"] is None else f"≤ {each['goal']:g} {unit}"
                cells = (f"{each['dibs']} {unit}", f"{each['cpu']} {unit}", goal)
                lines.append(f"| {each['name']} | {' | '.join(cells)} | {each['includes']} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(figure: Figure) -> tuple[str, str, str, str]:
    unit, goal = figure.case.unit, figure.case.goal
    return (
        figure.case.name,
        f"{figure.value:.4g} {unit}",
        f"{figure.cpu:.4g} {unit}",
        "" if goal is None else f"<= {goal:g} {unit}",
    )

"""One figure: what was measured of a case, as the JSON that is printed and kept."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bench.case import RATES, SCALE, Case, Ours, Theirs
from bench.clock import Took

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"

# A figure as it is printed and kept.
Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """`theirs` is None where the peer was not measured, or has no such thing."""

    case: Case
    ours: Ours
    theirs: Theirs | None
    machine: str

    def record(self) -> Record:
        """`ratio` is dibs by peer: below 1 dibs takes less, or for rates does less.

        A peer that did not finish has its limit for its figure. `peer_first` is the peer's time to
        the first node that fits. All figures are in `unit`.
        """
        case, ours, theirs = self.case, self.ours, self.theirs
        dibs = self._scaled(ours.took, ours.value)
        peer = self._scaled(theirs.took, theirs.value) if theirs else None
        first = self._scaled(theirs.first) if theirs and theirs.first else None
        return {
            "name": case.name,
            "section": case.section,
            "unit": case.unit,
            "dibs": _rounded(dibs),
            "cpu": _rounded(self._scaled(ours.took, ours.by_cpu, cpu=True)),
            "peer": _rounded(peer),
            "peer_first": _rounded(first),
            "peer_finished": theirs.took.is_finished if theirs else None,
            "ratio": _rounded(dibs / peer) if peer and dibs else None,
            "goal": case.goal,
            "n": ours.took.n,
            "at": case.at,
            "machine": self.machine,
            "includes": case.includes,
            "flatters": case.flatters,
            "note": ours.note,
            "peer_note": theirs.note if theirs else "",
            "has_peer": case.peer is not None,
        }

    def _scaled(self, took: Took, value: float | None = None, *, cpu: bool = False) -> float | None:
        if value is not None:
            return value
        seconds = took.cpu_s if cpu else took.clock_s
        # Neither memory nor a rate has a time of its own to tell.
        scale = SCALE.get(self.case.unit)
        return None if seconds is None or scale is None else seconds * scale


def is_met(record: Record) -> bool | None:
    """Whether the goal is met, an upper one but for rates; None without goal."""
    if record["goal"] is None:
        return None
    if record["unit"] in RATES:
        return bool(record["dibs"] >= record["goal"])
    return bool(record["dibs"] <= record["goal"])


def keep(figure: Figure) -> None:
    """In a file of its own, with when and on what it was measured."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = {**figure.record(), "date": today, "system": platform.platform(terse=True)}
    path = RESULTS / f"{figure.case.name}.json"
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


def kept(order: Iterable[str]) -> list[Record]:
    """What is kept of these cases, in this order."""
    paths = (RESULTS / f"{name}.json" for name in order)
    return [json.loads(path.read_text()) for path in paths if path.is_file()]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")

"""Cost against size, drawn for the page: small SVG files that are the same for the same figures."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Record

CURVES = {"nodes": "nodes", "devices": "devices a node", "requests": "requests in the claim"}
NAME = "benchmarks-{}.svg"

# Readable on white and on black, as pages are shown; the background is left to them.
_INK = "#7d8590"
_LINES = (
    ("dibs", "dibs", "#2f81f7", "o"),
    ("peer", "upstream, until 100 nodes fit", "#d29922", "s"),
    ("peer_first", "upstream, first node", "#a371f7", "^"),
)
_STYLE = {
    "svg.fonttype": "none",
    # Ids in the file come from this, not from chance.
    "svg.hashsalt": "dibs",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def draw(kept: Sequence[Record], folder: Path) -> bool:
    """One file a curve; false when matplotlib isn't installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    for section in CURVES:
        points = [record for record in kept if record["section"] == section]
        if points:
            _curve(points, CURVES[section], folder / NAME.format(section))
    return True


def _curve(points: Sequence[Record], axis: str, path: Path) -> None:
    # Only who draws needs it, and it takes most of a second to import.
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    with matplotlib.rc_context(_STYLE):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.4), layout="constrained")
        for key, label, colour, marker in _LINES:
            known = [(point["at"], point[key]) for point in points if point[key] is not None]
            if known:
                sizes, costs = zip(*known, strict=True)
                axes.plot(sizes, costs, color=colour, marker=marker, markersize=4, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        sizes = [point["at"] for point in points]
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(FuncFormatter(_time))
        axes.set_xlabel(axis)
        axes.set_ylabel("time of one decision")
        axes.grid(color=_INK, alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        # Without a date the file changes only with the figures.
        figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)


def _time(value: float, _: int) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value:g} µs"

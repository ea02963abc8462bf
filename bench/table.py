"""The table and the progress on a terminal, on standard error: standard output is for JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from bench import telling
from bench.case import SECTIONS
from bench.figures import Record

_STYLES = {"met": "green", "not met": "bold red", "–": "dim"}
# Wide enough for a line a figure where no terminal says how wide it is.
_PIPE_WIDTH = 180


def console() -> Console:
    """Plain in pipes, and without colours under NO_COLOR, which rich sees to."""
    found = Console(stderr=True, highlight=False)
    return found if found.is_terminal else Console(stderr=True, highlight=False, width=_PIPE_WIDTH)


def progress(to: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=to,
        transient=True,
        disable=not to.is_terminal,
    )


def show(to: Console, records: Sequence[Record]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("benchmark", no_wrap=True)
    columns = ("dibs", "cpu", "peer", "first node", "ratio", "goal", "")
    for title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for section, title in SECTIONS.items():
        own = [record for record in records if record["section"] == section]
        if own:
            table.add_row(Text(title, style="bold"))
        for record in own:
            table.add_row(f"  {record['name']}", *_cells(record))
    to.print(table)


def _cells(record: Record) -> tuple[str | Text, ...]:
    verdict = telling.verdict(record)
    unit = record["unit"]
    return (
        telling.amount(record["dibs"], unit),
        telling.amount(record["cpu"], unit),
        telling.peer(record),
        telling.first(record),
        telling.ratio(record),
        telling.goal(record),
        Text(verdict, style=_STYLES[verdict]),
    )

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
_WIDE = 140
_COLUMNS = ("dibs", "cpu", "peer", "first node", "ratio", "goal", "")
_CURIOUS = ("cpu", "first node")


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
        # A thread that draws would be measured with the rest.
        auto_refresh=False,
        # JSON on standard output is not for the terminal.
        redirect_stdout=False,
        disable=not to.is_terminal,
    )


def show(to: Console, records: Sequence[Record]) -> None:
    """On a narrow terminal without the two columns that are for the curious."""
    columns = [column for column in _COLUMNS if to.width >= _WIDE or column not in _CURIOUS]
    table = Table(box=None, pad_edge=False)
    table.add_column("benchmark", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for section, title in SECTIONS.items():
        own = [record for record in records if record["section"] == section]
        if own:
            table.add_row(Text(title, style="bold"))
        for record in own:
            cells = _cells(record)
            table.add_row(f"  {record['name']}", *(cells[column] for column in columns))
    to.print(table)


def _cells(record: Record) -> dict[str, str | Text]:
    verdict = telling.verdict(record)
    unit = record["unit"]
    return {
        "dibs": telling.amount(record["dibs"], unit),
        "cpu": telling.amount(record["cpu"], unit),
        "peer": telling.peer(record),
        "first node": telling.first(record),
        "ratio": telling.ratio(record),
        "goal": telling.goal(record),
        "": Text(verdict, style=_STYLES[verdict]),
    }

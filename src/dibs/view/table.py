"""Rows under headings, and how they are written without a terminal.

Cells are text already; columns that are empty in every row are left out. On a terminal the same
table is drawn with colours by the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dibs.values.quoted import on_one_line
from dibs.view.tree import Tone


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[str, ...]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def without_empty(self, keep: tuple[str, ...] = ()) -> Table:
        """The table without columns that say nothing; those in `keep` stay."""
        kept = [
            index
            for index, column in enumerate(self.columns)
            if column in keep or any(row.cells[index] for row in self.rows)
        ]
        rows = tuple(Row(tuple(row.cells[i] for i in kept), row.tone) for row in self.rows)
        return Table(tuple(self.columns[i] for i in kept), rows)


def text(table: Table) -> str:
    """Columns aligned, two blanks apart, no cell shortened; headings in capitals as kubectl's."""
    return "\n".join(lines(table, widths(table)))


def lines(table: Table, across: Sequence[int]) -> list[str]:
    """The headings and the rows, at least so wide."""
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, across, strict=True)).rstrip()
        for line in grid(table)
    ]


def widths(table: Table) -> list[int]:
    """How wide each column wants to be."""
    return [max(map(len, column)) for column in zip(*grid(table), strict=True)]


def grid(table: Table) -> list[tuple[str, ...]]:
    heads = tuple(column.upper() for column in table.columns)
    return [heads, *(tuple(map(shown, row.cells)) for row in table.rows)]


def shown(cell: str) -> str:
    """A cell is one line, whatever somebody put into a name or an attribute."""
    return on_one_line(cell) or "-"

"""Rows stay rows, whatever is in their cells."""

from __future__ import annotations

import pytest

from dibs.cli import output
from dibs.view import table
from dibs.view.table import Row, Table


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("", "-"),
        ('a "b" \\c', 'a "b" \\c'),
        ("gpü", "gpü"),
        ("a\nNODE evil", "a\\nNODE evil"),
        ("a\r\tb", "a\\r\\tb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
    ],
)
def test_a_cell_is_one_line(cell: str, told: str) -> None:
    written = table.text(Table(("a", "b"), (Row((cell, "x")),)))
    assert written.splitlines()[1:] == [f"{told}  x"]


def test_trees_keep_their_lines_and_nothing_turns_them_around() -> None:
    assert output.printable("a\n\tb\u202ec\u2066\x1b") == "a\n\tb\\u202ec\\u2066\\x1b"

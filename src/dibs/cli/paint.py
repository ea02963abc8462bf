"""Trees and tables on a terminal: colours by tone, columns by the terminal's width.

Rich is imported only here and only when stdout is a terminal; in a pipe the same values are
written as plain text by `view`.
"""

from __future__ import annotations

from dibs.cli import output
from dibs.view import table, tree
from dibs.view.table import Table
from dibs.view.tree import Tone, Tree

STYLES: dict[Tone, str] = {
    "plain": "",
    "good": "green",
    "bad": "yellow",
    "faint": "dim",
    "next": "cyan",
}


def show_tree(root: Tree) -> None:
    if not output.is_terminal():
        output.say(tree.text(root))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(no_color=not output.wants_color(), highlight=False, soft_wrap=True)
    for index, line in enumerate(tree.lines(root)):
        style = "bold" if index == 0 else STYLES[line.tone]
        console.print(Text(output.printable(line.text), style=style))


def show_table(found: Table) -> None:
    if not output.is_terminal():
        output.say(table.text(found))
        return
    import rich.box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(no_color=not output.wants_color(), highlight=False)
    drawn = Drawn(box=rich.box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in found.columns:
        drawn.add_column(column.upper(), overflow="fold")
    for row in found.rows:
        cells = (Text(output.printable(cell or "-")) for cell in row.cells)
        drawn.add_row(*cells, style=STYLES[row.tone])
    console.print(drawn)

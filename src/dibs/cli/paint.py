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
# The last column may be told over several lines if it keeps this much room.
LAST_COLUMN = 24


def show_tree(root: Tree) -> None:
    if not output.wants_color():
        output.say(tree.text(root))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for index, line in enumerate(tree.lines(root)):
        style = "bold" if index == 0 else STYLES[line.tone]
        console.print(Text(output.printable(line.text), style=style))


def show_table(found: Table) -> None:
    if not output.is_terminal():
        output.say(table.text(found))
        return
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    is_colored = output.wants_color()
    header = "bold" if is_colored else ""
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=header)
    *kept, _ = table.widths(found)
    # Names are never broken over lines as long as there is room for them.
    is_roomy = sum(kept) + 2 * len(kept) + LAST_COLUMN <= console.width
    for index, column in enumerate(found.columns):
        is_last = index == len(found.columns) - 1
        drawn.add_column(column.upper(), overflow="fold", no_wrap=is_roomy and not is_last)
    for row in found.rows:
        cells = (Text(output.printable(table.shown(cell))) for cell in row.cells)
        drawn.add_row(*cells, style=STYLES[row.tone] if is_colored else "")
    console.print(drawn)

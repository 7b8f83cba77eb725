"""A run for the terminal: tables that fit its width, in colour where there is colour."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.report.colours import COLOURS
from bench.report.figures import Grid
from bench.report.narrow import fitted, gap, label_width
from bench.report.wording import findings, grids, headline, warnings

ASCII = str.maketrans("·–→µ×÷…›‹░▒▓█▌▞▁▂▃▄▅▆▇", ".->ux/.><-=+#:%_.,-=+*")
STYLES = {"slower": "red", "faster": "green", "same": "dim", "cannot tell": "yellow"}


def render(
    document: Mapping[str, Any], *, width: int = 160, colour: bool = False, plain: bool = False
) -> str:
    """The whole report as text of at most `width` columns; `plain` for ASCII terminals."""
    target = io.StringIO()
    console = Console(
        file=target,
        width=width,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
    )
    console.print(Text(headline(document), style="bold"), soft_wrap=True)
    for grid in grids(document):
        console.print()
        console.print(Text(grid.title, style="bold"), soft_wrap=True)
        between = gap(grid, width)
        for part in fitted(grid, width):
            console.print(_table(part, label=label_width(part, width), between=between))
        for note in grid.notes:
            console.print(Text(f"  {note}"), soft_wrap=True)
    for each in findings(document):
        console.print(Text(f"→ {each}", style="cyan"), soft_wrap=True)
    for each in warnings(document):
        console.print(Text(f"! {each}", style="yellow"), soft_wrap=True)
    text = target.getvalue()
    return _ascii(text) if plain else text


def _ascii(text: str) -> str:
    """Our own letters by likeness, a server's by their numbers."""
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _table(grid: Grid, *, label: int, between: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, between // 2))
    for number, name in enumerate(grid.head):
        if number == 0:
            table.add_column(name, overflow="fold", min_width=label, max_width=label)
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(_coloured(cell, grid) for cell in row))
    return table


def _coloured(cell: str, grid: Grid) -> Text:
    """A verdict in its colour; a picture letter by letter in those of its segments."""
    text = Text(cell, style=STYLES.get(cell, ""))
    parts = {} if grid.picture is None else grid.picture.parts
    if cell and set(cell) <= parts.keys():
        for at, letter in enumerate(cell):
            text.stylize(COLOURS.get(parts[letter], ""), at, at + 1)
    return text

"""A run for the terminal: tables that fit its width, in colour where there is colour."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.report.figures import Grid, harmless
from bench.report.wording import findings, grids, headline, warnings

ASCII = str.maketrans("·–→µ×÷…›‹░▒▓█▌▞◌»", ".->ux/.><-=+#:%o}")
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
    console.print(_words(headline(document), "bold"), soft_wrap=True)
    for grid in grids(document):
        console.print()
        console.print(_words(grid.title, "bold"), soft_wrap=True)
        console.print(_table(grid))
        for note in grid.notes:
            console.print(_words(f"  {note}"), soft_wrap=True)
    for each in findings(document):
        console.print(_words(f"→ {each}", "cyan"), soft_wrap=True)
    for each in warnings(document):
        console.print(_words(f"! {each}", "yellow"), soft_wrap=True)
    text = target.getvalue()
    return text.translate(ASCII) if plain else text


def _table(grid: Grid) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for number, name in enumerate(grid.head):
        side: Literal["left", "right"] = "left" if number == 0 else "right"
        table.add_column(_words(name), justify=side, no_wrap=number > 0)
    for row in grid.rows:
        table.add_row(*(_words(cell, STYLES.get(cell, "")) for cell in row))
    return table


def _words(text: str, style: str = "") -> Text:
    """Text that styles nothing by itself, whoever wrote it."""
    return Text(harmless(text), style=style)

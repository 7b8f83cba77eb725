"""A run for the terminal: tables that fit its width, in colour where there is colour."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.report.colours import COLOURS
from bench.report.figures import Grid, Page, harmless
from bench.report.narrow import gap, label_width, parts
from bench.report.wording import page

ASCII = str.maketrans("·–→µ×÷…›‹░▒▓█▌▞◌»▁▂▃▄▅▆▇│", ".->ux/.><-=+#:%o}_.,-=+*|")
STYLES = {"slower": "red", "faster": "green", "same": "dim", "cannot tell": "yellow"}


def render(
    document: Mapping[str, Any], *, width: int = 160, colour: bool = False, plain: bool = False
) -> str:
    """The whole report of a run as text of at most `width` columns; `plain` for ASCII."""
    return printed(page(document), width=width, colour=colour, plain=plain)


def fitted(page: Page, out: TextIO, environment: Mapping[str, str]) -> str:
    """A page as the terminal, or whatever else, at the end of `out` can show it."""
    colour = out.isatty() and not environment.get("NO_COLOR")
    width = shutil.get_terminal_size((160, 24)).columns
    plain = "utf" not in (out.encoding or "").lower()
    return printed(page, width=width, colour=colour, plain=plain)


def printed(page: Page, *, width: int = 160, colour: bool = False, plain: bool = False) -> str:
    """A page as text of at most `width` columns; `plain` for ASCII terminals."""
    target = io.StringIO()
    console = Console(
        file=target,
        width=width,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
    )
    console.print(_words(page.headline, "bold"), soft_wrap=True)
    for grid in page.grids:
        console.print()
        console.print(_words(grid.title, "bold"), soft_wrap=True)
        between = gap(grid, width)
        for part in parts(grid, width):
            console.print(_table(part, label=label_width(part, width), between=between))
        for note in grid.notes:
            console.print(_words(f"  {note}"), soft_wrap=True)
    for each in page.findings:
        console.print(_words(f"→ {each}", "cyan"), soft_wrap=True)
    for each in page.doubts:
        console.print(_words(f"! {each}", "yellow"), soft_wrap=True)
    text = target.getvalue()
    return _ascii(text) if plain else text


def _ascii(text: str) -> str:
    """Our own letters by likeness, a server's by their numbers."""
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _table(grid: Grid, *, label: int, between: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, between // 2))
    for number, name in enumerate(grid.head):
        if number == 0:
            table.add_column(_words(name), overflow="fold", min_width=label, max_width=label)
        else:
            table.add_column(_words(name), justify="right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(_coloured(cell, grid) for cell in row))
    return table


def _coloured(cell: str, grid: Grid) -> Text:
    """A verdict in its colour; a picture letter by letter in those of its segments."""
    text = _words(cell, STYLES.get(cell, ""))
    segments = {} if grid.picture is None else grid.picture.parts
    if cell and set(cell) <= segments.keys():
        for at, letter in enumerate(cell):
            text.stylize(COLOURS.get(segments[letter], ""), at, at + 1)
    return text


def _words(text: str, style: str = "") -> Text:
    """Text that styles nothing by itself, whoever wrote it."""
    return Text(harmless(text), style=style)

"""A run as Markdown: for an issue, a step summary or a README."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, harmless
from bench.report.wording import findings, grids, headline, warnings


def render(document: Mapping[str, Any]) -> str:
    """The whole report as Markdown."""
    lines = [f"### {plain(str(document['scenario']))}", "", plain(headline(document)), ""]
    for grid in grids(document):
        lines += [*_table(grid), ""]
    lines += [f"- → {plain(each)}" for each in findings(document)]
    lines += [f"- ⚠ {plain(each)}" for each in warnings(document)]
    return "\n".join(lines).rstrip() + "\n"


def _table(grid: Grid) -> Iterator[str]:
    yield f"**{plain(grid.title)}**"
    yield ""
    yield _row(grid.head)
    yield _row(["---", *["---:"] * (len(grid.head) - 1)])
    yield from (_row(row) for row in grid.rows)
    yield ""
    yield from (f"- {plain(note)}" for note in grid.notes)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(plain(cell) for cell in cells)} |"


def plain(text: str) -> str:
    """A server's words must not become markup."""
    text = harmless(text)
    for letter in "\\|<>`*_[]":
        text = text.replace(letter, f"\\{letter}" if letter not in "<>" else f"&#{ord(letter)};")
    return text

"""A run as Markdown: for an issue, a step summary or a README."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, Page, harmless
from bench.report.wording import page


def render(document: Mapping[str, Any]) -> str:
    """The whole report of a run as Markdown."""
    return printed(page(document), title=str(document["scenario"]))


def printed(page: Page, *, title: str) -> str:
    """A page as Markdown under a title."""
    lines = [f"### {plain(title)}", "", plain(page.headline), ""]
    for grid in page.grids:
        lines += [*_table(grid), ""]
    lines += [f"- → {plain(each)}" for each in page.findings]
    lines += [f"- ⚠ {plain(each)}" for each in page.doubts]
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

"""What all pictures share: axes without lines that frame nothing, their unit, and no data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogFormatter

from bench.report import wording
from bench.report.colours import CELL_COLOURS
from bench.spread import Main

NS_PER_MS = 1e6
NAME_LETTERS = 48


def unit(main: Main) -> str:
    """`ms`, and the scale where it is not the plain one."""
    return "ms (logarithmic)" if main.logarithmic else "ms"


class Look(NamedTuple):
    """How the line of one cell differs from those of the others."""

    colour: str
    line: str


def looks() -> Iterator[Look]:
    """As many as there are cells: when the colours have run out they come again, dashed."""
    for line in itertools.cycle(("-", "--", ":", "-.")):
        yield from (Look(colour, line) for colour in CELL_COLOURS)


def axes(ax: Axes | None, *, rows: int = 0) -> Axes:
    """The given axes, or new ones that fit a notebook and a README, higher where rows need it."""
    if ax is not None:
        return ax
    height = max(3.6, 1.2 + 0.26 * rows)
    return plt.subplots(figsize=(9, height), layout="constrained")[1]


class _PlainNumber(LogFormatter):
    """The values that a logarithmic axis has room for, as one says them."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def plain_numbers(axis: Axis) -> None:
    """A logarithmic axis with 0.6 and 20 on it, and no powers of ten."""
    axis.set_major_formatter(_PlainNumber())
    axis.set_minor_formatter(_PlainNumber(labelOnlyBase=False, minor_thresholds=(1.5, 0.5)))


def plain(ax: Axes) -> None:
    """Take away the lines that frame nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def no_data(ax: Axes) -> None:
    """Say that there is nothing to draw."""
    ax.text(0.5, 0.5, "no data", ha="center", va="center", transform=ax.transAxes)


def names_of(cells: Sequence[str]) -> dict[str, str]:
    """The labels of cells, cut so that axes remain, and without formulas in them."""
    return {
        cell: no_formula(name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 1]}…")
        for cell, name in wording.labels(cells).items()
    }


def no_formula(words: str) -> str:
    """Words as they stand: a dollar sign would begin a formula."""
    return words.replace("$", r"\$")

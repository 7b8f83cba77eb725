"""What all pictures share: axes without lines that frame nothing, their unit, and no data."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bench.report import wording
from bench.spread import Main

NS_PER_MS = 1e6
NAME_LETTERS = 48


def unit(main: Main) -> str:
    """`ms`, and the scale where it is not the plain one."""
    return "ms (logarithmic)" if main.logarithmic else "ms"


def axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones of a size that fits a notebook and a README."""
    return ax if ax is not None else plt.subplots(figsize=(9, 3.6), layout="constrained")[1]


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

"""What all pictures share: one colour a segment and a cell, the axes, the range the eye needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bench.report import wording
from bench.report.figures import milliseconds

# One colour a segment, everywhere; Okabe and Ito's, which survive colour blindness and print.
COLOURS: Mapping[str, str] = {
    "deliver": "#bbbbbb",
    "dispatch": "#56b4e9",
    "work": "#d55e00",
    "encode": "#0072b2",
    "return": "#999999",
    "boundary": "#56b4e9",
    "first_reply": "#cc79a7",
    "interpreter": "#999999",
    "imports": "#cc79a7",
    "serving": "#56b4e9",
    "connect": "#bbbbbb",
    "tls": "#882255",
    "initialize": "#d55e00",
    "discover": "#e69f00",
    "initialized": "#f0e442",
    "tools_list": "#009e73",
    "listen": "#44aa99",
    "client": "#000000",
    "think": "#eeddaa",
}
CELL_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
NS_PER_MS = 1e6
NAME_LETTERS = 48
MAIN_SHARE = 0.001  # so many of all values may lie beyond the axis; they are counted and named
WIDE = 12  # from this factor on between its ends an axis is logarithmic

Ns = NDArray[np.int64]


class Main(NamedTuple):
    """The range of the main mass, ns, whether it wants a logarithmic axis, and what lies beyond."""

    low_ns: float
    high_ns: float
    logarithmic: bool
    beyond: str

    @property
    def unit(self) -> str:
        """`ms`, and the scale where it is not the plain one."""
        return "ms (logarithmic)" if self.logarithmic else "ms"


def main_mass(values: Sequence[Ns]) -> Main:
    """The range that holds all but the largest thousandth of all values, the same for each cell.

    A rare value would flatten the rest to one bar; `beyond` says how many there are and the
    largest, so that none is lost. Two modes far apart both stay in, on a logarithmic axis.
    """
    whole = np.sort(np.concatenate(values))
    kept = whole[: len(whole) - int(MAIN_SHARE * len(whole))]
    low, high = float(kept[0]), float(kept[-1])
    above = whole[len(kept) :]
    above = above[above > high]
    beyond = f"{len(above):,} above, max {milliseconds(float(whole[-1]))}" if len(above) else ""
    return Main(low, high, low > 0 and high / low >= WIDE, beyond)


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

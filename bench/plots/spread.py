"""How the readings of one segment are spread: their share up to each value, and their mass."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from bench.frames import LoadedRun
from bench.plots.canvas import (
    NS_PER_MS,
    Look,
    axes,
    looks,
    names_of,
    no_data,
    plain,
    plain_numbers,
    unit,
)
from bench.plots.readings import steady
from bench.report.colours import CELL_COLOURS
from bench.report.spreads import beyond
from bench.spread import Main, Ns, edges, main_mass


def distribution(run: LoadedRun, ax: Axes | None = None, *, segment: str = "call") -> Axes:
    """The steady readings of a call segment per cell: lines are the share of calls up to a value
    (ECDF), the areas below them where the calls lie (histogram, each cell's fullest bin the same;
    left out where there are more cells than colours).

    All cells share one axis, which the main mass fills; what lies beyond is counted and named.
    """
    drawn = axes(ax)
    found = steady(run, segment)
    if not found:
        no_data(drawn)
        return drawn
    main = main_mass(list(found.values()))
    names = names_of(list(found))
    for (cell, values), look in zip(found.items(), looks(), strict=False):
        if len(found) <= len(CELL_COLOURS):
            _area(drawn, values, main, look.colour)
        _line(drawn, values, look, names[cell])
    _frame(drawn, main, segment)
    return drawn


def _line(ax: Axes, values: Ns, look: Look, name: str) -> None:
    ordered = np.sort(values) / NS_PER_MS
    share = np.arange(1, len(ordered) + 1) / len(ordered)
    ax.step(ordered, share, where="post", color=look.colour, ls=look.line, label=name, lw=1.6)


def _area(ax: Axes, values: Ns, main: Main, colour: str) -> None:
    counts, ends = np.histogram(values, edges(main))
    if counts.max():
        heights = 0.5 * counts / counts.max()
        ax.stairs(heights, ends / NS_PER_MS, fill=True, alpha=0.25, color=colour)


def _frame(ax: Axes, main: Main, segment: str) -> None:
    if main.logarithmic:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis)
    low, high = main.low_ns / NS_PER_MS, main.high_ns / NS_PER_MS
    margin = 0.02 * (high - low) or 0.02 * high
    ax.set_xlim(low if main.logarithmic else low - margin, high + margin)
    ax.set_ylim(0, 1.02)
    ax.set(xlabel=f"{segment}, {unit(main)}", ylabel="share of calls")
    if main.above:
        ax.text(
            0.995, 0.5, f"{beyond(main.above, main.max_ns)} →", ha="right", transform=ax.transAxes
        )
    ax.legend(frameon=False, loc="lower right")
    plain(ax)

"""How calls change over the life of a launch: warm-up, drift and steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import ruptures
from matplotlib.axes import Axes
from numpy.typing import NDArray

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
from bench.plots.readings import by_cell, durations
from bench.report.spreads import beyond
from bench.segments import MISSING
from bench.spread import main_mass

SHORTEST_LEVEL = 10  # calls
SMALLEST_SHIFT = 0.05
PENALTY = 10  # log n per step: neighbouring calls are alike, so chance makes more than white noise


def drift(run: LoadedRun, ax: Axes | None = None, *, segment: str = "call") -> Axes:
    """The n-th call of a launch, its median over the launches, per cell; dots are single calls.

    The warm-up is shaded. A step is marked with a line: the medians have another level from there
    on, by at least SMALLEST_SHIFT (change points by PELT, Killick et al. 2012, least squares).
    """
    drawn = axes(ax)
    cells = {cell: _course(calls, segment) for cell, calls in by_cell(run)}
    cells = {cell: course for cell, course in cells.items() if len(course)}
    if not cells:
        no_data(drawn)
        return drawn
    names = names_of(list(cells))
    for (cell, course), look in zip(cells.items(), looks(), strict=False):
        _draw(drawn, course, look, names[cell])
    _shade(drawn, next(iter(cells.values())))
    _frame(drawn, cells, segment)
    return drawn


def steps(medians: NDArray[np.float64]) -> list[int]:
    """Where the level of a series changes for good: the first index of each new level."""
    logs = np.log(medians)
    changes = np.diff(logs)
    spread = 1.4826 * float(np.median(np.abs(changes))) / np.sqrt(2) if len(changes) else 0.0
    if len(logs) < 2 * SHORTEST_LEVEL or spread == 0:
        return []
    search = ruptures.Pelt(model="l2", min_size=SHORTEST_LEVEL, jump=1).fit(logs / spread)
    ends = search.predict(pen=PENALTY * np.log(len(logs)))
    levels = [float(np.median(part)) for part in np.split(logs, ends[:-1])]
    shifts = np.abs(np.diff(levels)) >= np.log1p(SMALLEST_SHIFT)
    return [int(at) for at, shifted in zip(ends, shifts, strict=False) if shifted]


def _course(calls: pd.DataFrame, segment: str) -> pd.DataFrame:
    """The calls that were ok and not the floor, with `took_ns` of the segment."""
    kept = calls[(calls["phase"] != "floor") & (calls["outcome"] == "ok")]
    course = kept.assign(took_ns=durations(kept, segment))
    return course[course["took_ns"] != MISSING]


def _draw(ax: Axes, course: pd.DataFrame, look: Look, name: str) -> None:
    ax.plot(
        course["call"],
        course["took_ns"] / NS_PER_MS,
        ".",
        ms=2,
        alpha=0.15,
        color=look.colour,
        zorder=1,
    )
    medians = course.groupby("call")["took_ns"].median()
    ax.plot(
        medians.index,
        medians / NS_PER_MS,
        color=look.colour,
        ls=look.line,
        lw=1.4,
        label=name,
    )
    later = medians[medians.index > _warm(course)]
    for at in steps(later.to_numpy(np.float64)):
        ax.axvline(later.index[at], color=look.colour, ls=":", lw=1.2)
        ax.text(
            later.index[at], 0.98, " step", color=look.colour, transform=ax.get_xaxis_transform()
        )


def _shade(ax: Axes, course: pd.DataFrame) -> None:
    warm = _warm(course)
    if warm >= 0:
        ax.axvspan(-0.5, warm + 0.5, color="#eeeeee", zorder=0)
        ax.text(0, 0.02, " warm-up", color="#777777", transform=ax.get_xaxis_transform())


def _warm(course: pd.DataFrame) -> int:
    """The last call of the warm-up; -1 without one."""
    warm = course["call"][course["phase"] != "steady"]
    return int(warm.max()) if len(warm) else -1


def _frame(ax: Axes, cells: dict[str, pd.DataFrame], segment: str) -> None:
    """The axis is that of the steady calls; what a start adds may lie beyond, and is counted."""
    steady = [course[course["phase"] == "steady"] for course in cells.values()]
    shown = [
        course if len(course) else whole
        for course, whole in zip(steady, cells.values(), strict=True)
    ]
    main = main_mass([course["took_ns"].to_numpy(np.int64) for course in shown])
    if main.logarithmic:
        ax.set_yscale("log")
        plain_numbers(ax.yaxis)
    ax.set_ylim(0.95 * main.low_ns / NS_PER_MS, 1.1 * main.high_ns / NS_PER_MS)
    ax.set(xlabel="call of the launch", ylabel=f"{segment}, {unit(main)}")
    every = np.concatenate([course["took_ns"].to_numpy(np.int64) for course in cells.values()])
    above = int((every > 1.1 * main.high_ns).sum())
    if above:
        words = f"↑ {beyond(above, int(every.max()))}"
        ax.text(0.995, 1.0, words, ha="right", va="bottom", transform=ax.transAxes)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
    plain(ax)

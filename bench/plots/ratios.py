"""What was compared: the ratio of head to base with its interval, segment by segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from bench.frames import LoadedRun
from bench.plots.canvas import axes, no_data, plain, plain_numbers
from bench.report.colours import VERDICT_COLOURS
from bench.report.figures import percent, shown

MARKS: Mapping[str, str] = {"slower": ">", "faster": "<", "same": "o", "cannot tell": "x"}


def compare(run: LoadedRun, ax: Axes | None = None, *, axis: str | None = None) -> Axes:
    """Each comparison of the run, along one `axis` or along all: ratio and 95 % interval.

    Logarithmic, so that half and double are as far from 1; a ratio of 1 is the line.
    """
    found = [
        row
        for row in run.summary()["comparisons"]
        if axis in (None, row["axis"]) and row["ratio"] is not None
    ]
    drawn = axes(ax, rows=len(found))
    if not found:
        no_data(drawn)
        return drawn
    for at, row in enumerate(found):
        _draw(drawn, at, row)
    drawn.axvline(1, color="black", lw=0.8)
    drawn.set_xscale("log")
    plain_numbers(drawn.xaxis)
    drawn.margins(x=0.15)
    drawn.set_yticks(range(len(found)), [_name(row) for row in found])
    drawn.set_ylim(len(found) - 0.4, -0.6)
    drawn.set_xlabel("head to base (logarithmic), 95 % interval; right of 1 is slower")
    _legend(drawn, {row["verdict"] for row in found})
    plain(drawn)
    return drawn


def _draw(ax: Axes, at: int, row: Mapping[str, Any]) -> None:
    colour, mark = VERDICT_COLOURS[row["verdict"]], MARKS[row["verdict"]]
    low, high = row["low"] or row["ratio"], row["high"] or row["ratio"]
    ax.plot([low, high], [at, at], color=colour, lw=2)
    ax.plot(row["ratio"], at, mark, color=colour, ms=7)
    ax.text(high, at, f"  {percent(row['ratio'])}", va="center", color=colour)


def _name(row: Mapping[str, Any]) -> str:
    base, head = row["values"]
    return f"{shown(row['where'])}  {head} to {base}  {row['segment']}"


def _legend(ax: Axes, verdicts: set[str]) -> None:
    for verdict, mark in MARKS.items():
        if verdict in verdicts:
            ax.plot([], [], mark, color=VERDICT_COLOURS[verdict], label=verdict)
    below = -0.58 / ax.figure.get_window_extent().height * ax.figure.dpi  # inches
    ax.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, below))

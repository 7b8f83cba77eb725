"""A history: one line a cell over its runs, steps marked, a creep drawn as the slope it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench import history as histories
from bench.errors import BenchError
from bench.history.judged import ANCHOR
from bench.plots.canvas import NS_PER_MS, Look, axes, looks, names_of, no_data, no_formula, plain
from bench.report.figures import percent, shown

HASH_LETTERS = 9


def history(path: str | Path, ax: Axes | None = None, *, segment: str = "call") -> Axes:
    """The median of a segment over the runs of `history.jsonl`, per cell, on the newest's host.

    Where a level begins stand its commit and by how much it is another. Raises BenchError where
    there is no history.
    """
    return _drawn(histories.check(Path(path)), axes(ax), segment)


def save(document: Mapping[str, Any], out: Path) -> None:
    """The calls of what `history show` shows as a picture; its form is that of the file's name."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    _drawn(document, figure.subplots(), "call")
    try:
        figure.savefig(out, dpi=150)
    except (OSError, ValueError) as error:
        raise BenchError(f"{out} cannot be written: {error}; try: -o history.png") from error


def _drawn(document: Mapping[str, Any], drawn: Axes, segment: str) -> Axes:
    series = [
        each
        for each in document["series"]
        if (each["segment"], each["quantile"]) == (segment, "p50")
    ]
    if not series:
        no_data(drawn)
        return drawn
    names = names_of([each["cell"] for each in series])
    for each, look in zip(series, looks(), strict=False):
        _draw(drawn, each, look, names[each["cell"]])
    drawn.set(xlabel="run, oldest to newest", ylabel=f"{segment} p50, ms")
    drawn.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    drawn.margins(y=0.2)
    drawn.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
    plain(drawn)
    return drawn


def _draw(ax: Axes, series: Mapping[str, Any], look: Look, name: str) -> None:
    colour = look.colour
    runs = [point["run"] for point in series["course"]]
    values = np.array([point["value_ns"] for point in series["course"]]) / NS_PER_MS
    numbers = np.arange(1, len(runs) + 1)
    ax.plot(numbers, values, "o", ls=look.line, ms=3, lw=0.8, color=colour, label=name)
    for step in series["steps"]:
        at = runs.index(step["run"])
        ax.axvline(numbers[at] - 0.5, color=colour, ls=":", lw=1.2)
        words = f"{percent(step['ratio'])} {_commit(step)}"
        _say(ax, words, (numbers[at] - 0.5, float(values[at : at + ANCHOR].max())), colour)
    if series["kind"] == "creep":
        middles = [numbers[0] + ANCHOR / 2, numbers[-1] - ANCHOR / 2]
        ends = [series["base_ns"] / NS_PER_MS, series["now_ns"] / NS_PER_MS]
        ax.plot(middles, ends, "--", color=colour, lw=1.4)
        top = float(values[-2 * ANCHOR :].max())
        _say(ax, f"creep {percent(series['ratio'])}", (numbers[-1] - 2 * ANCHOR, top), colour)


def _say(ax: Axes, words: str, at: tuple[float, float], colour: str) -> None:
    ax.annotate(words, at, (3, 6), textcoords="offset points", color=colour, size=8)


def _commit(step: Mapping[str, Any]) -> str:
    return no_formula((step["commit"] or "")[:HASH_LETTERS] or shown(step["run"]))

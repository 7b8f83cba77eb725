"""What n calls cost with their setup, and where the cheaper cell changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bench.frames import LoadedRun
from bench.plots.canvas import NS_PER_MS, axes, looks, names_of, no_data, plain, plain_numbers

MOST_CALLS = 1_000_000


def break_even(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """What n calls cost with their setup, per cell, and the number of calls where two compared
    cells cost the same: with more, the one with the cheaper call has paid for its setup."""
    drawn = axes(ax)
    document = run.summary()
    cells = {cell["cell"]: cell["segments"] for cell in document["cells"] if _priced(cell)}
    if not cells:
        no_data(drawn)
        return drawn
    names = names_of(list(cells))
    calls = np.geomspace(1, MOST_CALLS, 200)
    for (cell, found), look in zip(cells.items(), looks(), strict=False):
        cost = _cost_ms(found, calls)
        drawn.plot(calls, cost, color=look.colour, ls=look.line, label=names[cell])
    for row in document["comparisons"]:
        if row["break_even_calls"] is not None and row["base"] in cells:
            _mark(drawn, row["break_even_calls"], cells[row["base"]])
    drawn.set(xscale="log", yscale="log", xlabel="calls made", ylabel="ms a call, setup included")
    drawn.xaxis.set_major_formatter("{x:,.0f}")
    plain_numbers(drawn.yaxis)
    drawn.legend(frameon=False)
    plain(drawn)
    return drawn


def _cost_ms(found: Mapping[str, Any], calls: NDArray[np.float64]) -> NDArray[np.float64]:
    """One call's share of the setup, and the call itself."""
    cost: NDArray[np.float64] = found["setup"]["p50_ns"] / calls + found["call"]["p50_ns"]
    return cost / NS_PER_MS


def _mark(ax: Axes, at: float, found: Mapping[str, Any]) -> None:
    cost_ms = float(_cost_ms(found, np.array([at], np.float64))[0])
    ax.plot(at, cost_ms, "o", ms=9, mfc="none", color="black")
    ax.annotate(f"{at:,.0f} calls", (at, cost_ms), (6, 8), textcoords="offset points")


def _priced(cell: Mapping[str, Any]) -> bool:
    return "setup" in cell["segments"] and "call" in cell["segments"]

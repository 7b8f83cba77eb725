"""Pictures of a run: each takes a loaded run and an Axes, draws, and returns the Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from bench.frames import LoadedRun
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
MOST_CALLS, NAME_LETTERS = 1_000_000, 48


def breakdown(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """The typical call of each cell, its segments side by side; they add up to the call."""
    drawn = _axes(ax)
    document = run.summary()
    _bars(drawn, document, "call")
    drawn.set_xlabel("ms a call (the typical one)")
    return drawn


def setup(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """The typical setup of each cell by phase; logarithmic, since phases span six decades."""
    drawn = _axes(ax)
    document = run.summary()
    _phases(drawn, document)
    drawn.set_xlabel("ms a phase (logarithmic)")
    return drawn


def break_even(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """What n calls cost with their setup, per cell; where lines cross, the cheaper one changes."""
    drawn = _axes(ax)
    cells = [cell for cell in run.summary()["cells"] if _priced(cell)]
    names = _names([cell["cell"] for cell in cells])
    calls = np.geomspace(1, MOST_CALLS, 200)
    for cell, colour in zip(cells, CELL_COLOURS, strict=False):
        found = cell["segments"]
        cost_ms = (found["setup"]["p50_ns"] + calls * found["call"]["p50_ns"]) / NS_PER_MS
        drawn.plot(calls, cost_ms / calls, color=colour, label=names[cell["cell"]])
    drawn.set(xscale="log", yscale="log", xlabel="calls made", ylabel="ms a call, setup included")
    if cells:
        drawn.legend(frameon=False)
    else:
        _no_data(drawn)
    return drawn


def _bars(ax: Axes, document: Mapping[str, Any], whole: str) -> None:
    cells = [cell for cell in document["cells"] if cell["ledger"][whole]]
    names = _names([cell["cell"] for cell in cells])
    for row, cell in enumerate(cells):
        left_ns = 0
        for part, value_ns in _parts(cell["ledger"][whole], whole):
            ax.barh(
                row,
                value_ns / NS_PER_MS,
                left=left_ns / NS_PER_MS,
                color=COLOURS[part],
                edgecolor="white",
                label=part,
            )
            left_ns += value_ns
        ax.text(left_ns / NS_PER_MS, row, f" {milliseconds(left_ns)}", va="center")
    _finish(ax, [names[cell["cell"]] for cell in cells])


def _phases(ax: Axes, document: Mapping[str, Any]) -> None:
    """One row a cell, one mark a phase: a bar on a logarithmic axis would lie about shares."""
    cells = [cell for cell in document["cells"] if cell["ledger"]["setup"]]
    names = _names([cell["cell"] for cell in cells])
    for row, cell in enumerate(cells):
        for part, value_ns in _parts(cell["ledger"]["setup"], "setup"):
            ax.plot(
                value_ns / NS_PER_MS, row, "o", ms=9, color=COLOURS[part], mec="white", label=part
            )
        total_ns = cell["ledger"]["setup"]["setup"]
        ax.plot(total_ns / NS_PER_MS, row, "|", ms=22, color="black", label="setup")
        ax.text(total_ns / NS_PER_MS, row + 0.3, milliseconds(total_ns), ha="center")
    ax.set_xscale("log")
    _finish(ax, [names[cell["cell"]] for cell in cells])


def _parts(ledger: Mapping[str, int], whole: str) -> list[tuple[str, int]]:
    return [(part, value_ns) for part, value_ns in ledger.items() if part != whole]


def _finish(ax: Axes, names: Sequence[str]) -> None:
    """Cells from the top, each segment once in the legend, or the words that there is nothing."""
    if not names:
        return _no_data(ax)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    handles, texts = ax.get_legend_handles_labels()
    once = dict(zip(texts, handles, strict=True))
    ax.legend(
        once.values(),
        once.keys(),
        frameon=False,
        ncols=5,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.15)


def _no_data(ax: Axes) -> None:
    ax.text(0.5, 0.5, "no data", ha="center", va="center", transform=ax.transAxes)


def _priced(cell: Mapping[str, Any]) -> bool:
    return "setup" in cell["segments"] and "call" in cell["segments"]


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(figsize=(9, 3.6), layout="constrained")[1]


def _names(cells: Sequence[str]) -> dict[str, str]:
    """The labels of cells, cut so that axes remain; a dollar sign would begin a formula."""
    return {
        cell: (name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 1]}…").replace(
            "$", r"\$"
        )
        for cell, name in wording.labels(cells).items()
    }

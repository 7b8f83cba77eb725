"""The ledgers as bars: what a call and a setup are made of, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from bench.frames import LoadedRun
from bench.plots.canvas import NS_PER_MS, axes, names_of, no_data, plain, plain_numbers
from bench.report.colours import COLOURS
from bench.spread import WIDE
from bench.units import milliseconds


def breakdown(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """The typical call of each cell, its segments side by side; they add up to the call."""
    drawn = axes(ax)
    document = run.summary()
    _bars(drawn, document, "call")
    drawn.set_xlabel("ms a call (the typical one)")
    return drawn


def setup(run: LoadedRun, ax: Axes | None = None) -> Axes:
    """The typical setup of each cell as a waterfall: each phase begins where the last one ended.

    The time axis is logarithmic where setups differ by an order of magnitude, as with a process to
    start on one side and a connection on the other.
    """
    drawn = axes(ax)
    cells = [cell for cell in run.summary()["cells"] if cell["ledger"]["setup"]]
    _waterfalls(drawn, [cell["ledger"]["setup"] for cell in cells])
    names = names_of([cell["cell"] for cell in cells])
    _finish(drawn, [names[cell["cell"]] for cell in cells])
    return drawn


def _bars(ax: Axes, document: Mapping[str, Any], whole: str) -> None:
    cells = [cell for cell in document["cells"] if cell["ledger"][whole]]
    names = names_of([cell["cell"] for cell in cells])
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


def _waterfalls(ax: Axes, ledgers: Sequence[Mapping[str, int]]) -> None:
    """A stair a cell; a logarithmic axis begins at a hundredth of the shortest setup."""
    totals = [ledger["setup"] for ledger in ledgers]
    logarithmic = bool(totals) and max(totals) >= WIDE * min(totals)
    origin_ns = min(totals) / 100 if logarithmic else 0
    for row, ledger in enumerate(ledgers):
        parts = _parts(ledger, "setup")
        height, at_ns = 0.8 / len(parts), 0
        for step, (part, value_ns) in enumerate(parts):
            left, end = (max(edge, origin_ns) / NS_PER_MS for edge in (at_ns, at_ns + value_ns))
            ax.barh(
                row - 0.4 + (step + 0.5) * height,
                end - left,
                left=left,
                height=height,
                color=COLOURS[part],
                edgecolor=COLOURS[part],
                label=part,
            )
            at_ns += value_ns
        ax.text(at_ns / NS_PER_MS, row, f"  {milliseconds(at_ns)}", va="center")
    if logarithmic:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis)
    ax.set_xlabel(f"ms since the start{' (logarithmic)' if logarithmic else ''}")


def _parts(ledger: Mapping[str, int], whole: str) -> list[tuple[str, int]]:
    return [(part, value_ns) for part, value_ns in ledger.items() if part != whole]


def _finish(ax: Axes, names: Sequence[str]) -> None:
    """Cells from the top, each segment once in the legend, or the words that there is nothing."""
    if not names:
        return no_data(ax)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    handles, texts = ax.get_legend_handles_labels()
    once = dict(zip(texts, handles, strict=True))
    ax.legend(
        once.values(),
        once.keys(),
        frameon=False,
        ncols=5,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
    )
    plain(ax)
    ax.margins(x=0.15)

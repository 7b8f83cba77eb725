"""Every message of a launch in its lane, client above and server below, in the order of time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.frames import LoadedRun
from bench.plots.canvas import axes, no_data, plain
from bench.report.colours import COLOURS
from bench.report.figures import shown
from bench.units import milliseconds
from bench.waits import Shortened

CLIENT, SERVER = 1.0, 0.0
SHOWN_MESSAGES = 16


def timeline(
    run: LoadedRun,
    ax: Axes | None = None,
    *,
    launch: int | None = None,
    messages: int | None = SHOWN_MESSAGES,
) -> Axes:
    """The first messages of a launch (None: all), the run's first launch unless one is named.

    An arrow is a message, from who sends it to who gets it, at the client's stamp; a bar in the
    server's lane is the work that a probe saw. A wait of over four times the usual one is cut, and
    its length is written where it was: without that a start would leave a call no width.
    """
    drawn = axes(ax)
    found = run.messages
    found = found[found["kind"] != "noise"].sort_values(["launch", "seq"])
    if len(found):
        found = found[found["launch"] == (found["launch"].min() if launch is None else launch)]
    if not len(found):
        no_data(drawn)
        return drawn
    left_out = 0 if messages is None else max(0, len(found) - messages)
    kept = found if messages is None else found.head(messages)
    at = Shortened(kept["at_ns"].to_numpy(np.int64))
    _arrows(drawn, kept, at)
    _work(drawn, run.calls, kept, at)
    _cuts(drawn, at)
    _frame(drawn, kept, at, left_out)
    return drawn


def _arrows(ax: Axes, messages: pd.DataFrame, at: Shortened) -> None:
    for place, row in zip(at.places, messages.itertuples(), strict=True):
        start, end = (CLIENT, SERVER) if row.direction == "out" else (SERVER, CLIENT)
        dotted = row.kind == "notification"
        ax.annotate(
            "",
            xy=(place, end),
            xytext=(place, start),
            arrowprops={"arrowstyle": "->", "ls": "--" if dotted else "-", "color": "#0072b2"},
        )
        if row.direction == "out" and isinstance(row.method, str):
            ax.text(place, CLIENT + 0.06, shown(row.method), rotation=38, fontsize=8)


def _work(ax: Axes, calls: pd.DataFrame, messages: pd.DataFrame, at: Shortened) -> None:
    last = messages["at_ns"].max()
    launch = messages["launch"].iloc[0]
    worked = calls[(calls["launch"] == launch) & calls["left_ns"].notna()]
    worked = worked[(worked["phase"] != "floor") & (worked["left_ns"] <= last)]
    for row in worked.itertuples():
        left, right = at.of(row.entered_ns), at.of(row.left_ns)
        ax.barh(SERVER, right - left, left=left, height=0.16, color=COLOURS["work"], label="work")


def _cuts(ax: Axes, at: Shortened) -> None:
    for index in at.cut:
        text = f"≈ {milliseconds(at.wait_ns(index))}"
        ax.text(at.middle(index), 0.5, text, ha="center", va="center", fontsize=8, rotation=90)


def _frame(ax: Axes, messages: pd.DataFrame, at: Shortened, left_out: int) -> None:
    for lane in (CLIENT, SERVER):
        ax.axhline(lane, color="#999999", lw=0.8, zorder=0)
    ax.set_yticks([SERVER, CLIENT], ["server", "client"])
    ax.set_ylim(SERVER - 0.3, CLIENT + 0.75)
    ax.set_xlim(-0.02 * at.places[-1], 1.04 * at.places[-1] or 1)
    ax.set_xticks([])
    more = f"; {left_out:,} later messages not drawn" if left_out else ""
    cell = shown(messages["cell"].iloc[0])
    ax.set_xlabel(f"time → {cell}, launch {messages['launch'].iloc[0]}{more}")
    handles, names = ax.get_legend_handles_labels()
    if handles:
        ax.legend(handles[:1], names[:1], frameon=False, loc="lower right")
    plain(ax)

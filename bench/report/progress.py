"""How far a run has come, on stderr where that is a terminal; silent elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import rich.progress

from bench.drive import Watcher
from bench.model import Turn
from bench.recorder import SYSTEM_CLOCK, Clock
from bench.report.figures import shown

if TYPE_CHECKING:
    from rich.console import Console


class Silent:
    """Says nothing."""

    def launching(self, turn: Turn, number: int, total: int) -> None:
        """Nothing to say."""

    def called(self, calls: int) -> None:
        """Nothing to say."""


class Bar:
    """One line: cell, launch, call rate and time left."""

    def __init__(self, update: rich.progress.Progress, clock: Clock = SYSTEM_CLOCK) -> None:
        self._progress = update
        self._clock = clock
        self._task = update.add_task("starting", total=None, rate="")
        self._began_ns = clock()

    def launching(self, turn: Turn, number: int, total: int) -> None:
        """A launch begins."""
        self._began_ns = self._clock()
        words = f"{shown(turn.cell.name)} launch {turn.round + 1}"
        self._progress.update(self._task, description=words, completed=number, total=total)
        self._progress.refresh()

    def called(self, calls: int) -> None:
        """So many calls of the launch are made."""
        rate = calls * 1e9 / max(1, self._clock() - self._began_ns)
        self._progress.update(self._task, rate=f"{rate:,.0f} calls/s")
        self._progress.refresh()


@contextlib.contextmanager
def watcher() -> Iterator[Watcher]:
    """A bar for the time of a run; it redraws only when told, so never beside a timed call."""
    if not sys.stderr.isatty():
        yield Silent()
        return
    from rich.console import Console

    with bar(Console(stderr=True)) as shown_there:
        yield shown_there


@contextlib.contextmanager
def bar(console: Console) -> Iterator[Bar]:
    """A bar on a console for as long as it is entered."""
    columns = (
        rich.progress.TextColumn("{task.description}", markup=False),
        rich.progress.BarColumn(bar_width=24),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TextColumn("{task.fields[rate]}"),
        rich.progress.TimeRemainingColumn(),
    )
    with rich.progress.Progress(
        *columns, console=console, auto_refresh=False, transient=True
    ) as progress:
        yield Bar(progress)

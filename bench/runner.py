"""Drives the plan, one launch at a time, into the store."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import anyio

from bench import host
from bench.drive import Job, Watcher, drive
from bench.errors import BenchError, LaunchEnded
from bench.model import Placement, Turn
from bench.store import Writer


class Ended(NamedTuple):
    """How a run ended: its status, and what kept each failed cell from being measured."""

    status: str
    failed: Mapping[str, BenchError]


async def run(plan: Sequence[Turn], job: Job, writer: Writer, watcher: Watcher) -> Ended:
    """Run every launch of the plan; SIGINT ends it early, with all that was kept."""
    failed: dict[str, BenchError] = {}

    async def work() -> None:
        await _launches(plan, job, writer, watcher, failed)

    return Ended(await undisturbed(work, job.placement), failed)


async def undisturbed(work: Callable[[], Awaitable[None]], placement: Placement) -> str:
    """Do the work on the client's cores: `complete`, or `interrupted` where SIGINT ended it."""
    before = os.sched_getaffinity(0) if placement.client else ()
    host.take_place(placement.client)
    status = "interrupted"
    try:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_end_on_signal, signals, tasks.cancel_scope)
                await work()
                status = "complete"
                tasks.cancel_scope.cancel()
    finally:
        host.take_place(tuple(before))
    return status


async def _end_on_signal(signals: AsyncIterable[signal.Signals], scope: anyio.CancelScope) -> None:
    """One is enough; those that follow change nothing while servers are being ended."""
    async for _ in signals:
        scope.cancel()


async def _launches(
    plan: Sequence[Turn],
    job: Job,
    writer: Writer,
    watcher: Watcher,
    failed: dict[str, BenchError],
) -> None:
    """A cell whose first setup fails is given up; a later failure costs that launch only."""
    for number, turn in enumerate(plan):
        if turn.cell.name in failed:
            continue
        watcher.launching(turn, number, len(plan))
        try:
            await drive(turn, job, writer, watcher)
        except LaunchEnded:
            continue
        except BenchError as error:
            if turn.round == 0:
                failed[turn.cell.name] = error

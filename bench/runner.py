"""Drives the plan, one launch at a time, into the store."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import anyio

from bench import host, process
from bench.errors import BenchError, SetupError
from bench.model import Cell, Limits, Phase, Placement, Scenario, Server, ToolCall, Turn
from bench.process import Environment
from bench.recorder import SYSTEM_CLOCK, Asked, Clock, Recorder
from bench.session import Session, launch
from bench.store import Writer

SPILL_NS = 400_000_000


class Watcher(Protocol):
    """Is told how far a run has come; must return at once."""

    def launching(self, turn: Turn, number: int, total: int) -> None:
        """A launch begins."""

    def called(self, calls: int) -> None:
        """So many calls of the launch have been made."""


class Job(NamedTuple):
    """All that a run needs beside its plan."""

    scenarios: Mapping[str, Scenario]
    servers: Mapping[str, Server]
    limits: Limits
    placement: Placement
    words: Mapping[str, Mapping[str, str]]
    clock: Clock = SYSTEM_CLOCK


class Ended(NamedTuple):
    """How a run ended: its status, and what kept each failed cell from being measured."""

    status: str
    failed: Mapping[str, BenchError]


async def run(plan: Sequence[Turn], job: Job, writer: Writer, watcher: Watcher) -> Ended:
    """Run every launch of the plan; SIGINT and SIGTERM end it early, with all that was kept."""
    process.adopt_orphans()
    failed: dict[str, BenchError] = {}
    before = os.sched_getaffinity(0) if job.placement.client else ()
    host.take_place(job.placement.client)
    status = "interrupted"
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_end_on_signal, tasks.cancel_scope)
            await _launches(plan, job, writer, watcher, failed)
            status = "complete"
            tasks.cancel_scope.cancel()
    finally:
        host.take_place(tuple(before))
    return Ended(status, failed)


async def _end_on_signal(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return


async def _launches(
    plan: Sequence[Turn],
    job: Job,
    writer: Writer,
    watcher: Watcher,
    failed: dict[str, BenchError],
) -> None:
    """A cell whose first launch fails is given up; a later failure costs that launch only."""
    for number, turn in enumerate(plan):
        if turn.cell.name in failed:
            continue
        watcher.launching(turn, number, len(plan))
        try:
            await _launch(turn, job, writer, watcher)
        except BenchError as error:
            if turn.round == 0:
                failed[turn.cell.name] = error


async def _launch(turn: Turn, job: Job, writer: Writer, watcher: Watcher) -> None:
    """One launch, its rows spilled to the store at least twice a second and at its end."""
    recorder = Recorder(turn, clock=job.clock, keep_bodies=turn.round == 0)
    server = job.servers[turn.cell.server]
    outcome = "interrupted"
    gc.collect()
    gc.disable()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_spill_slowly, recorder, writer)
            environment = _environment(turn.cell, server, job)
            async with launch(server, turn.cell, recorder, environment, job.limits) as session:
                await _drive(session, turn, job, recorder, writer, watcher)
            tasks.cancel_scope.cancel()
        outcome = "ok"
    except* BenchError as group:
        error = _first(group)
        outcome = error.outcome if isinstance(error, SetupError) else "transport_error"
        recorder.facts["error"] = str(error)
        raise error from None
    finally:
        gc.enable()
        writer.flush(recorder)
        writer.launch(recorder, outcome)
        writer.end_launch(turn.launch)


async def _drive(
    session: Session,
    turn: Turn,
    job: Job,
    recorder: Recorder,
    writer: Writer,
    watcher: Watcher,
) -> None:
    """Open the session, then make its calls, each after the reply to the one before."""
    await session.open()
    await session.tools()
    recorder.mark("ready")
    for index, (phase, asked) in enumerate(_schedule(job.scenarios[turn.cell.scenario])):
        out = session.request(asked.tool, asked.arguments)
        reply = await session.call(out)
        recorder.call(reply, index=index, phase=phase, asked=Asked(asked.tool, len(out.body)))
        if index == 0:
            recorder.marks["first_sent"] = reply.sent_ns
            if reply.outcome == "ok" and reply.received_ns is not None:
                recorder.marks["first_received"] = reply.received_ns
            if session.process is not None:
                recorder.facts["rss_bytes_start"], _ = session.process.usage()
            writer.launch(recorder, "running")
        if reply.received_ns is None and reply.outcome == "transport_error":
            raise BenchError(f"{reply.why}{await session.why_gone()}")
        recorder.facts["response"] = session.wire.response_form
        if recorder.clock() - recorder.taken_ns > SPILL_NS:
            writer.flush(recorder)
            watcher.called(index + 1)


def _schedule(scenario: Scenario) -> list[tuple[Phase, ToolCall]]:
    """The first call, the warm-up and the steady calls, asking in turn what the scenario asks."""
    warmup: list[Phase] = ["warmup"]
    steady: list[Phase] = ["steady"]
    phases: list[Phase] = ["first", *warmup * scenario.warmup, *steady * scenario.calls]
    return list(zip(phases, itertools.cycle(scenario.call), strict=False))


async def _spill_slowly(recorder: Recorder, writer: Writer) -> None:
    """Spill in the middle of a call only where it takes so long that it will not notice."""
    while True:
        await anyio.sleep(SPILL_NS / 2e9)
        if recorder.clock() - recorder.taken_ns > 2 * SPILL_NS:
            writer.flush(recorder)


def _environment(cell: Cell, server: Server, job: Job) -> Environment:
    options = server.http.options if server.http is not None else {}
    return Environment(
        words=job.words.get(server.name, {}),
        cpus=job.placement.server,
        options=[word for value in cell.variant.values() for word in options.get(value, ())],
        limit_s=job.limits.setup_s,
    )


def _first(group: BaseExceptionGroup[BenchError]) -> BenchError:
    """The one error in a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, BenchError)
    return error

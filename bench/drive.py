"""One launch from start to end: its calls, its floor, what a probe saw of them, into the store."""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import anyio

from bench import inside, jsonrpc, probe
from bench.cache import Shelf
from bench.clients import CLIENTS, DEFAULT, Asking, Client
from bench.errors import BenchError, LaunchEnded, SetupError
from bench.model import (
    TOOL_CALL,
    Limits,
    Phase,
    Placement,
    Reply,
    Scenario,
    Server,
    Step,
    Turn,
)
from bench.process import Environment
from bench.recorder import BUSY_CLOCK, SYSTEM_CLOCK, Asked, Clock, Recorder
from bench.spans import Receiver
from bench.store import Writer

SPILL_NS = 400_000_000
MOST_FLOOR_CALLS = 20
EXPECTED, QUOTED_LETTERS = ("ok", "cancelled", "input_required"), 300
ONE_PER_CALL = "one-per-call"
MOST_SILENT = 5  # calls in a row without a reply: the rest would only cost their limits
FEWEST_TO_DOUBT = 20  # fewer calls are mostly start: they say nothing of who set the pace


class Watcher(Protocol):
    """Is told how far a run has come; must return at once."""

    def launching(self, turn: Turn, number: int, total: int) -> None:
        """A launch begins."""

    def called(self, calls: int) -> None:
        """So many calls of the launch have been made."""


class Job(NamedTuple):
    """All that a run needs beside its plan; `shelves` by cell, where cache hints are honoured."""

    scenarios: Mapping[str, Scenario]
    servers: Mapping[str, Server]
    limits: Limits
    placement: Placement
    words: Mapping[str, Mapping[str, str]]
    clock: Clock = SYSTEM_CLOCK
    spans: bool = False
    shelves: Mapping[str, Shelf] = {}


async def drive(turn: Turn, job: Job, writer: Writer, watcher: Watcher) -> None:
    """Drive one launch: its calls one after the other, then the floor.

    Raises SetupError where it could not be called at all, LaunchEnded where it ended early.
    """
    async with launched(turn, job, writer, watcher) as one:
        await one.calls()
        await one.floor()


@contextlib.asynccontextmanager
async def launched(
    turn: Turn, job: Job, writer: Writer, watcher: Watcher
) -> AsyncIterator[Launched]:
    """One launch, set up and ready to be called; its rows are spilled to the store twice a second
    and at its end. Raises as `drive` does; an error of another launch leaves it interrupted."""
    recorder = Recorder(turn, clock=job.clock, keep_bodies=turn.round == 0)
    one = Launched(turn, job, recorder, writer, watcher)
    outcome = "interrupted"
    gc.collect()
    gc.disable()
    try:
        async with one.alive():
            yield one
        outcome = "timeout" if "unlisted" in recorder.facts else "ok"
    except* BenchError as group:
        error = _first(group)
        if one.owns(error):
            outcome = error.outcome if isinstance(error, SetupError) else "transport_error"
            recorder.facts["error"] = str(error)
        raise error from None
    finally:
        gc.enable()
        one.look_inside()
        one.take_spans()
        writer.flush(recorder)
        writer.launch(recorder, outcome)
        writer.end_launch(turn.launch)


class Launched:
    """What one launch shares between its steps."""

    def __init__(
        self, turn: Turn, job: Job, recorder: Recorder, writer: Writer, watcher: Watcher
    ) -> None:
        self._cell = turn.cell
        self._scenario = job.scenarios[turn.cell.scenario]
        self._server = job.servers[turn.cell.server]
        self._job = job
        self._recorder = recorder
        self._writer = writer
        self._watcher = watcher
        self._index = itertools.count()
        self._spans = Receiver() if job.spans else None
        self._session: Client[Any]
        self._is_open = False
        self._ended: BenchError | None = None
        self._silent, self._lost = 0, False
        self._side_files = writer.path / f"probe-{turn.launch}-"

    @contextlib.asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """From its start to its end; spans are listened for all that time."""
        with self._spans or contextlib.nullcontext():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._spill_slowly)
                async with self._opened() as self._session:
                    self._is_open = True
                    yield
                    if self._spans is not None:
                        await self._spans.settled()
                tasks.cancel_scope.cancel()
            if self._spans is not None:
                await self._spans.drained()

    def owns(self, error: BenchError) -> bool:
        """Whether an error is of this launch, rather than of one that lives beside it."""
        return not self._is_open or error is self._ended

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[Client[Any]]:
        """Started, connected, agreed, its tools known: ready to be called."""
        launch = CLIENTS[self._cell.variant.get("client", DEFAULT)]
        async with launch(
            self._server, self._cell, self._recorder, self._environment(), self._job.limits
        ) as session:
            if self._spans is not None:
                session.trace(self._spans.traceparent)
            if self._cell.name in self._job.shelves:
                session.honour(self._job.shelves[self._cell.name])
            session.follow(self._scenario)
            await session.open()
            await session.prepare(self._scenario)
            if "unlisted" not in self._recorder.facts:
                self._recorder.mark("ready")
            yield session

    def look_inside(self) -> None:
        """Lay what the probe left beside the calls, and remove its side files."""
        if self._cell.variant.get("probe") != "on":
            return
        recorder = self._recorder
        files = probe.read(self._side_files)
        if recorder.windows or files:
            seen = inside.look(files, recorder.windows, recorder.marks)
            recorder.marks.update(seen.marks)
            recorder.facts.update(seen.facts)
            if seen.disordered:
                recorder.count("disordered", seen.disordered)
            self._writer.stamps(recorder.turn.launch, seen.rows)
        for path in self._side_files.parent.glob(f"{self._side_files.name}*"):
            path.unlink()

    def take_spans(self) -> None:
        """Lay the times that the server's spans tell beside the calls."""
        if self._spans is None:
            return
        told = self._spans.durations()
        found = {call.number: told[call.id] for call in self._recorder.windows if call.id in told}
        self._recorder.facts["spans"] = len(found)
        self._writer.spans(self._recorder.turn.launch, found)

    async def calls(self) -> None:
        """The scenario's calls, each after the reply to the one before; and our own share of it."""
        began_ns, busy_ns = self._recorder.clock(), BUSY_CLOCK()
        for phase, step in self.schedule():
            await self.call(phase, step)
        took_ns = self._recorder.clock() - began_ns
        share = (BUSY_CLOCK() - busy_ns) / max(1, took_ns)
        if self._scenario.calls >= FEWEST_TO_DOUBT:
            self._recorder.facts["client_busy_share"] = round(share, 3)

    async def call(self, phase: Phase, step: Step) -> None:
        """One call; LaunchEnded where no other can follow."""
        try:
            await self._ask(phase, step)
        except BenchError as error:
            self._ended = error
            raise

    async def _ask(self, phase: Phase, step: Step) -> None:
        session = self._session
        reply = await self._call(session.request(step), phase, step)
        if "first_sent" not in self._recorder.marks:
            self._first_call(reply)
        was_lost, self._lost = self._lost, await session.renewed()
        if self._lost and was_lost:
            raise LaunchEnded("the session was lost twice in a row")
        given_up = reply.outcome == "cancelled"
        self._silent = self._silent + 1 if reply.received_ns is None and not given_up else 0
        if self._silent >= MOST_SILENT or await session.lost(reply):
            raise LaunchEnded(f"{reply.why}{await session.why_gone()}")

    def schedule(self) -> Iterator[tuple[Phase, Step]]:
        """The first call, the warm-up and the steady calls, asking in turn what the scenario asks.

        Where each call has a start of its own, that call is all there is.
        """
        scenario = self._scenario
        warmup: list[Phase] = ["warmup"]
        steady: list[Phase] = ["steady"]
        phases: list[Phase] = ["first", *warmup * scenario.warmup, *steady * scenario.calls]
        if self._cell.variant.get("policy") == ONE_PER_CALL:
            phases = steady
        return zip(phases, itertools.cycle(scenario.asked_in(self._cell.era)), strict=False)

    def _first_call(self, reply: Reply) -> None:
        recorder, session = self._recorder, self._session
        recorder.marks["first_sent"] = reply.sent_ns
        if reply.outcome == "ok" and reply.received_ns is not None:
            recorder.marks["first_received"] = reply.received_ns
        if session.process is not None:
            recorder.facts["rss_bytes_start"], _ = session.process.usage()
        self._writer.launch(recorder, "running")

    async def floor(self) -> None:
        """The cheapest request on this connection, as often as it takes for a median."""
        for _ in range(min(MOST_FLOOR_CALLS, self._scenario.calls)):
            method, out = self._session.cheapest()
            reply = await self._call(out, "floor", Step(name=method))
            self._recorder.marks.setdefault("floor_sent", reply.sent_ns)
            if reply.outcome != "ok":
                return

    async def _call(self, out: Asking, phase: Phase, step: Step) -> Reply:
        recorder, session = self._recorder, self._session
        index = next(self._index)
        reply = await session.call(out)
        probed = step.method == TOOL_CALL and not reply.rounds
        asked = Asked(step.label, step.method, len(out.body), out.id, probed=probed)
        recorder.call(reply, index=index, phase=phase, asked=asked)
        for one in reply.rounds:
            recorder.call(
                one, index=next(self._index), phase="round", asked=Asked(step.label, step.method)
            )
        recorder.facts["response"] = session.response_form
        if reply.outcome not in EXPECTED:
            told = reply.why or jsonrpc.words_of(reply.body)
            recorder.facts.setdefault("failed_with", told[:QUOTED_LETTERS])
        if recorder.clock() - recorder.taken_ns > SPILL_NS:
            self._writer.flush(recorder)
            self._watcher.called(index + 1)
        return reply

    async def _spill_slowly(self) -> None:
        """Spill in the middle of a call only where it takes so long that it will not notice."""
        while True:
            await anyio.sleep(SPILL_NS / 2e9)
            if self._recorder.clock() - self._recorder.taken_ns > 2 * SPILL_NS:
                self._writer.flush(self._recorder)

    def _environment(self) -> Environment:
        variant = self._cell.variant
        return Environment(
            words=self._job.words.get(self._server.name, {}),
            variables={} if self._spans is None else self._spans.environment,
            probe=self._side_files if variant.get("probe") == "on" else None,
            cpus=self._job.placement.server,
            options=self._server.arguments(self._cell.transport, variant),
            limit_s=self._job.limits.setup_s,
        )


def _first(group: BaseExceptionGroup[BenchError]) -> BenchError:
    """The one error in a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, BenchError)
    return error

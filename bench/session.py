"""One launch, opened: a server started, a wire attached, an era agreed, its tools known."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable

import anyio
import msgspec

from bench import opening, redact
from bench.asking import Asker, Ready
from bench.cache import Shelf
from bench.era import ERAS, Era
from bench.errors import SetupError, UsageError, nearest
from bench.model import (
    TOOL_CALL,
    Agreement,
    Cell,
    Endpoint,
    Limits,
    Reply,
    Scenario,
    Server,
    Step,
    Tool,
)
from bench.opening import Talk
from bench.process import Environment, Process
from bench.recorder import Recorder
from bench.server import STARTS, end, is_lost, why_gone
from bench.wire import WIRES, Wire


@contextlib.asynccontextmanager
async def launch(
    server: Server, cell: Cell, recorder: Recorder, environment: Environment, limits: Limits
) -> AsyncIterator[Session]:
    """Start, connect, and at the end say goodbye and leave nothing running."""
    live = await STARTS[cell.transport](server, environment, recorder)
    wire: Wire | None = None
    try:
        keep_alive = cell.variant.get("connection") != "per-call"
        endpoint = msgspec.structs.replace(
            live.endpoint,
            keep_alive=keep_alive,
            quick_ack=cell.variant.get("ack") == "quick",
            limit_bytes=limits.message_bytes,
        )
        wire = await _attached(cell, endpoint, recorder, limits)
        yield Session(server, cell, recorder, wire, live.process, limits)
    finally:
        with anyio.CancelScope(shield=True):
            await end(live.process, wire, recorder)


async def _attached(cell: Cell, endpoint: Endpoint, recorder: Recorder, limits: Limits) -> Wire:
    with anyio.move_on_after(limits.setup_s):
        return await WIRES[cell.transport](endpoint, recorder)
    raise SetupError(
        f"{redact.url(endpoint.url or '')} cannot be reached: "
        f"no connection within {limits.setup_s:g} s; "
        "try: is this the right address, and does anything answer there?",
        phase="connect",
        outcome="timeout",
    )


class Session:
    """Speaks one era over one wire; ids are unique over the launch and never used again."""

    def __init__(
        self,
        server: Server,
        cell: Cell,
        recorder: Recorder,
        wire: Wire,
        process: Process | None,
        limits: Limits,
    ) -> None:
        self.wire = wire
        self.process = process
        self.era: Era = ERAS[cell.era](cell.protocol_version, cell.capabilities)
        self._traceparent: Callable[[int], str] | None = None
        self._scenario: Scenario | None = None
        self._server = server
        self._recorder = recorder
        self._limits = limits
        self._ids = itertools.count(1)
        self._announced: tuple[str, ...] | None = None
        self._listed: frozenset[str] = frozenset()
        self._setup = Talk(server.name, cell, recorder, wire, limits, self._ids, self.why_gone)
        self._asker = self._made_asker()

    def _made_asker(self) -> Asker:
        asker = Asker(self.wire, self.era, self._ids, limits=self._limits, recorder=self._recorder)
        asker.traceparent = self._traceparent
        asker.answer(() if self._scenario is None else self._scenario.answer)
        return asker

    async def open(self) -> Agreement:
        """The opening exchange and what must follow it; SetupError where nothing is agreed."""
        self.era, agreement = await opening.open(self._setup)
        self._asker = self._made_asker()
        self._announced = agreement.capabilities
        return agreement

    async def tools(self) -> tuple[Tool, ...]:
        """All pages of the tool list; a server that announces no tools is not asked for it."""
        if not self.announces("tools"):
            return ()
        found = await opening.tools(self._setup, self.era)
        self._listed = frozenset(tool.name for tool in found)
        return found

    def honour(self, shelf: Shelf) -> None:
        """Do not ask again what an earlier launch was told and still holds."""
        self._setup = self._setup._replace(shelf=shelf)

    def announces(self, capability: str) -> bool:
        """Whether the server announces it; a server that was not asked, or says nothing, may."""
        return self._announced is None or capability in self._announced

    def trace(self, traceparent: Callable[[int], str]) -> None:
        """Let each call carry the parent that `traceparent` gives for its id."""
        self._asker.traceparent = self._traceparent = traceparent

    def note(self, what: str, words: str) -> None:
        """Keep a fact of this launch."""
        self._recorder.facts[what] = words

    def follow(self, scenario: Scenario) -> None:
        """Answer what the server asks as this scenario says."""
        self._scenario = scenario
        self._asker.answer(scenario.answer)

    async def prepare(self, scenario: Scenario) -> None:
        """List the tools and subscribe before the first call; UsageError where a tool is none.

        A list that does not come in time is noted as `unlisted`: calls can do without it.
        """
        try:
            await self.tools()
        except SetupError as error:
            if error.outcome != "timeout":
                raise
            self._recorder.facts["unlisted"] = str(error)
            return
        for step in scenario.asked_in(self.era.name):
            if step.method == TOOL_CALL:
                self.must_list(step.tool)
        if scenario.listen:
            await self._asker.listen(scenario.listen)

    @property
    def response_form(self) -> str | None:
        """How replies came: `line`, `json` or `sse`; None before the first."""
        return self.wire.response_form

    def must_list(self, tool: str) -> None:
        """Raise UsageError, with the nearest name, where the server does not list the tool."""
        name = self._server.name
        if not self.announces("tools"):
            raise UsageError(
                f'server "{name}" announces no tools, so "{tool}" cannot be called and tools/list '
                "was not asked; try: trace, which shows what it does announce"
            )
        if tool not in self._listed:
            raise UsageError(f'server "{name}" has no tool "{tool}"{nearest(tool, self._listed)}')

    def request(self, step: Step) -> Ready:
        """The bytes of one call, made before its clock starts."""
        return self._asker.ready(step)

    def cheapest(self) -> tuple[str, Ready]:
        """The name and the bytes of the cheapest request: the null tool, else the era's own."""
        null = self._server.null_tool or ""
        step = Step(tool=null) if null in self._listed else Step(method=self.era.cheapest)
        return step.label, self.request(step)

    async def call(self, ready: Ready) -> Reply:
        """One call; a failure is an outcome of its reply."""
        return await self._asker.ask(ready)

    async def renewed(self) -> bool:
        """Whether the session was lost, and a new one is open: timed by itself, and counted."""
        if not self.wire.session_lost:
            return False
        recorder = self._recorder
        self.wire.forget_session()
        marks, began_ns = dict(recorder.marks), recorder.clock()
        await opening.open(self._setup)
        recorder.marks = marks
        recorder.facts.setdefault("renewal_ns", []).append(recorder.clock() - began_ns)
        return True

    async def lost(self, reply: Reply) -> bool:
        """Whether no other reply can follow: the wire is closed, or the process has left."""
        return await is_lost(reply, self.process, closed=self.wire.closed)

    async def why_gone(self) -> str:
        """How the process left, if it did, its last words, and what it printed amiss."""
        return await why_gone(self.process, self._recorder)

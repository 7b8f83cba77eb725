"""One launch, opened: a server started, a wire attached, an era agreed, its tools known."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import msgspec

from bench import jsonrpc, redact
from bench.era import ERAS, Era
from bench.errors import SetupError, UsageError, nearest
from bench.model import Agreement, Cell, Endpoint, Limits, Outgoing, Reply, Server, Tool
from bench.process import POLL_S, Environment, Process
from bench.recorder import Recorder
from bench.server import STARTS, end, is_lost, why_gone
from bench.wire import WIRES, Wire

FLUSH_WAIT_S = 1.0
SENT = {"tools_list": "tools_sent"}  # where a step's first stamp has another name


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
            live.endpoint, keep_alive=keep_alive, limit_bytes=limits.message_bytes
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
        self.era: Era = ERAS[cell.era](cell.protocol_version)
        self.traceparent: Callable[[int], str] | None = None
        self._server = server
        self._recorder = recorder
        self._limits = limits
        self._ids = itertools.count(1)
        self._listed: frozenset[str] = frozenset()

    async def open(self) -> Agreement:
        """The opening exchange and what must follow it; SetupError where nothing is agreed."""
        step = self.era.opening_step
        reply = await self._step(step, self.era.opening(next(self._ids)))
        try:
            agreement = self.era.agree(reply.body)
        except SetupError as error:
            raise SetupError(f'server "{self._server.name}": {error}', phase=step) from error
        facts = self._recorder.facts
        facts["protocol_version"] = agreement.protocol_version
        facts["server_info"] = dict(agreement.server_info)
        confirmation = self.era.confirmation()
        if confirmation is not None:
            await self._confirm(confirmation)
        return agreement

    async def tools(self) -> tuple[Tool, ...]:
        """All pages of the tool list; an absent `nextCursor` ends it, an empty one does not."""
        found: list[Tool] = []
        sent_ns = received_ns = None
        params: dict[str, Any] | None = {}
        cursors: set[str] = set()
        while params is not None:
            request = self.era.request(next(self._ids), "tools/list", params)
            reply = await self._ask("tools_list", request)
            sent_ns = sent_ns or reply.sent_ns
            received_ns = reply.received_ns
            result = jsonrpc.result_of(reply.body)
            found += _tools(result)
            cursor = result.get("nextCursor")
            params = None if cursor is None else {"cursor": cursor}
            if str(cursor) in cursors:
                raise SetupError(
                    f'server "{self._server.name}" pages for ever: tools/list gave the cursor '
                    f"{str(cursor)[:60]!r} twice",
                    phase="tools_list",
                )
            cursors.add(str(cursor))
        assert sent_ns is not None
        assert received_ns is not None
        self._recorder.marks.update(tools_sent=sent_ns, tools_received=received_ns)
        self._recorder.facts["tools"] = len(found)
        self.era.learn(found)
        self._listed = frozenset(tool.name for tool in found)
        return tuple(found)

    def trace(self, traceparent: Callable[[int], str]) -> None:
        """Let each call carry the parent that `traceparent` gives for its id."""
        self.traceparent = traceparent

    async def prepare(self, wanted: Sequence[str]) -> None:
        """List the tools before the first call; UsageError where a wanted one is not among them.

        A list that does not come in time is noted as `unlisted`: calls can do without it.
        """
        try:
            await self.tools()
        except SetupError as error:
            if error.outcome != "timeout":
                raise
            self._recorder.facts["unlisted"] = str(error)
            return
        for tool in wanted:
            self.must_list(tool)

    @property
    def response_form(self) -> str | None:
        """How replies came: `line`, `json` or `sse`; None before the first."""
        return self.wire.response_form

    def must_list(self, tool: str) -> None:
        """Raise UsageError, with the nearest name, where the server does not list the tool."""
        if tool not in self._listed:
            name = self._server.name
            raise UsageError(f'server "{name}" has no tool "{tool}"{nearest(tool, self._listed)}')

    def request(self, tool: str, arguments: Mapping[str, Any]) -> Outgoing:
        """The bytes of one call, made before its clock starts."""
        id = next(self._ids)
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if self.traceparent is not None:
            params["_meta"] = {"traceparent": self.traceparent(id)}
        return self.era.request(id, "tools/call", params)

    def cheapest(self) -> tuple[str, Outgoing]:
        """The name and the bytes of the cheapest request: the null tool, else the era's own."""
        if self._server.null_tool is not None:
            return self._server.null_tool, self.request(self._server.null_tool, {})
        method = self.era.cheapest
        return method, self.era.request(next(self._ids), method, {})

    async def call(self, out: Outgoing) -> Reply:
        """One call; a failure is an outcome of its reply."""
        return await self.wire.exchange(out, limit_s=self._limits.call_s)

    async def lost(self, reply: Reply) -> bool:
        """Whether no other reply can follow: the wire is closed, or the process has left."""
        return await is_lost(reply, self.process, closed=self.wire.closed)

    async def why_gone(self) -> str:
        """How the process left, if it did, its last words, and what it printed amiss."""
        return await why_gone(self.process, self._recorder)

    async def _step(self, step: str, out: Outgoing) -> Reply:
        """A request of the setup, with its two stamps among the launch's marks."""
        reply = await self._ask(step, out)
        assert reply.received_ns is not None
        self._recorder.marks[f"{step}_sent"] = reply.sent_ns
        self._recorder.marks[f"{step}_received"] = reply.received_ns
        return reply

    async def _ask(self, step: str, out: Outgoing) -> Reply:
        reply = await self.wire.exchange(out, limit_s=self._limits.setup_s)
        if reply.outcome == "timeout":
            self._recorder.mark("gave_up")
            self._recorder.facts["gave_up"] = step
            self._recorder.marks.setdefault(SENT.get(step, f"{step}_sent"), reply.sent_ns)
        if reply.received_ns is None:
            raise SetupError(
                f'server "{self._server.name}" did not answer {out.method}: '
                f"{reply.why}{await self.why_gone()}{await self._unflushed(reply)}",
                phase=step,
                outcome=reply.outcome,
            )
        if reply.outcome == "protocol_error" and step == "tools_list":
            error = jsonrpc.error_of(reply.body)
            raise SetupError(
                f'server "{self._server.name}" refused {out.method}: '
                f"error {error.get('code')}: {error.get('message')}",
                phase=step,
                outcome=reply.outcome,
            )
        return reply

    async def _unflushed(self, reply: Reply) -> str:
        """A silent server may have answered into a buffer: the end of its input flushes that.

        One that has answered before is known to flush, and may be called all the same.
        """
        opened = "protocol_version" in self._recorder.facts
        if reply.outcome != "timeout" or opened or not self.wire.end_input():
            return ""
        counts = self._recorder.counts
        known = counts.get("duplicate_replies", 0)
        with anyio.move_on_after(FLUSH_WAIT_S):
            while counts.get("duplicate_replies", 0) == known:
                await anyio.sleep(POLL_S)
            self._recorder.facts["reply_after_eof"] = True
            return (
                "; the reply came when its input ended: it was produced but not flushed; "
                "try: flush standard output after each message"
            )
        return ""

    async def _confirm(self, out: Outgoing) -> None:
        reply = await self.wire.notify(out, limit_s=self._limits.setup_s)
        if reply.outcome != "ok":
            raise SetupError(
                f'server "{self._server.name}" did not take {out.method}: '
                f"{reply.why}{await self.why_gone()}",
                phase="initialized",
                outcome=reply.outcome,
            )
        self._recorder.marks["initialized_sent"] = reply.sent_ns
        if reply.received_ns is not None:
            self._recorder.marks["initialized_done"] = reply.received_ns


def _tools(result: Mapping[str, Any]) -> Sequence[Tool]:
    """The tools of one page; an entry that is no tool is passed over."""
    found = []
    listed = result.get("tools")
    for entry in listed if isinstance(listed, list) else ():
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(entry, Tool))
    return found

"""One launch, opened: a server started, a wire attached, an era agreed, its tools known."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
import msgspec

from bench import jsonrpc
from bench.era import ERAS, Era
from bench.errors import SetupError
from bench.model import Agreement, Cell, Limits, Outgoing, Reply, Server, Tool
from bench.process import Environment, Process, words
from bench.recorder import Recorder
from bench.server import STARTS
from bench.wire import WIRES, Wire

LAST_WORDS_WAIT_S = 0.5


@contextlib.asynccontextmanager
async def launch(
    server: Server, cell: Cell, recorder: Recorder, environment: Environment, limits: Limits
) -> AsyncIterator[Session]:
    """Start, connect, and at the end say goodbye and leave nothing running."""
    live = await STARTS[cell.transport](server, environment, recorder)
    wire: Wire | None = None
    try:
        wire = await WIRES[cell.transport](live.endpoint, recorder)
        yield Session(server, cell, recorder, wire, live.process, limits)
    finally:
        with anyio.CancelScope(shield=True):
            await _end(wire, live.process, recorder)


async def _end(wire: Wire | None, process: Process | None, recorder: Recorder) -> None:
    if process is not None:
        recorder.facts["rss_bytes_end"], recorder.facts["cpu_s"] = process.usage()
    recorder.mark("closing")
    if wire is not None:
        await wire.close()
    if process is not None:
        stopped = await process.stop(asked=process.stdin_fd >= 0)
        recorder.facts["stopped"] = stopped.how
        recorder.facts["status"] = stopped.status
        recorder.facts["stop_ns"] = stopped.took_ns
        if stopped.leftovers:
            recorder.count("leftovers", stopped.leftovers)
    if wire is not None:
        wire.finish()
    recorder.mark("closed")


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
        self._server = server
        self._recorder = recorder
        self._limits = limits
        self._ids = itertools.count(1)

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
        while params is not None:
            request = self.era.request(next(self._ids), "tools/list", params)
            reply = await self._ask("tools_list", request)
            sent_ns = sent_ns or reply.sent_ns
            received_ns = reply.received_ns
            result = jsonrpc.result_of(reply.body)
            found += _tools(result)
            cursor = result.get("nextCursor")
            params = None if cursor is None else {"cursor": cursor}
        assert sent_ns is not None
        assert received_ns is not None
        self._recorder.marks.update(tools_sent=sent_ns, tools_received=received_ns)
        self._recorder.facts["tools"] = len(found)
        self.era.learn(found)
        return tuple(found)

    def request(self, tool: str, arguments: Mapping[str, Any]) -> Outgoing:
        """The bytes of one call, made before its clock starts."""
        params = {"name": tool, "arguments": arguments}
        return self.era.request(next(self._ids), "tools/call", params)

    def cheapest(self) -> tuple[str, Outgoing]:
        """The name and the bytes of the cheapest request: the null tool, else the era's own."""
        if self._server.null_tool is not None:
            return self._server.null_tool, self.request(self._server.null_tool, {})
        method = self.era.cheapest
        return method, self.era.request(next(self._ids), method, {})

    async def call(self, out: Outgoing) -> Reply:
        """One call; a failure is an outcome of its reply."""
        return await self.wire.exchange(out, limit_s=self._limits.call_s)

    async def why_gone(self) -> str:
        """How the process left, if it did, and its last words."""
        if self.process is None:
            return ""
        if await self.process.gone(LAST_WORDS_WAIT_S):
            return f"; it left with status {self.process.status}{words(self.process)}"
        return f"; it is still running{words(self.process)}"

    async def _step(self, step: str, out: Outgoing) -> Reply:
        """A request of the setup, with its two stamps among the launch's marks."""
        reply = await self._ask(step, out)
        assert reply.received_ns is not None
        self._recorder.marks[f"{step}_sent"] = reply.sent_ns
        self._recorder.marks[f"{step}_received"] = reply.received_ns
        return reply

    async def _ask(self, step: str, out: Outgoing) -> Reply:
        reply = await self.wire.exchange(out, limit_s=self._limits.setup_s)
        if reply.received_ns is None:
            raise SetupError(
                f'server "{self._server.name}" did not answer {out.method}: '
                f"{reply.why}{await self.why_gone()}",
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

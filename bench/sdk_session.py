"""One launch through the official SDK's client: its own opening, and the requests it makes."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bench.cache import Shelf
from bench.era import VERSIONS_OF
from bench.errors import BenchError, SetupError, UsageError
from bench.model import Agreement, Cell, EraName, Limits, Reply, Scenario, Server, Step
from bench.process import Environment, Process
from bench.recorder import Recorder
from bench.server import STARTS, end, is_lost, why_gone

if TYPE_CHECKING:
    from bench.wire.sdk import SdkClient
    from bench.wire.tap import Ask

# The SDK's word for a client that speaks one era only; None takes our own newest version.
PINS: Mapping[EraName, str | None] = {"stateful": "legacy", "stateless": None}


@contextlib.asynccontextmanager
async def pinned(
    server: Server, cell: Cell, recorder: Recorder, environment: Environment, limits: Limits
) -> AsyncIterator[SdkSession]:
    """As lean as the SDK gets: its mode pinned to the era, so that it probes nothing; no cache."""
    mode = PINS[cell.era] or cell.protocol_version or VERSIONS_OF[cell.era][-1]
    recorder.facts["client"] = "sdk"
    async with _launched(server, cell, recorder, environment, {"mode": mode, "cache": None}) as one:
        yield SdkSession(server, recorder, *one, limits)


@contextlib.asynccontextmanager
async def auto(
    server: Server, cell: Cell, recorder: Recorder, environment: Environment, limits: Limits
) -> AsyncIterator[SdkSession]:
    """The SDK with its defaults, which choose the era: the cell's own is not asked for."""
    recorder.facts["client"] = "sdk-auto"
    async with _launched(server, cell, recorder, environment, {}) as one:
        yield SdkSession(server, recorder, *one, limits)


@contextlib.asynccontextmanager
async def _launched(
    server: Server,
    cell: Cell,
    recorder: Recorder,
    environment: Environment,
    options: Mapping[str, Any],
) -> AsyncIterator[tuple[SdkClient, Process | None]]:
    make = _imported()
    live = await STARTS[cell.transport](server, environment, recorder)
    client: SdkClient | None = None
    try:
        keep_alive = cell.variant.get("connection") != "per-call"
        endpoint = msgspec.structs.replace(live.endpoint, keep_alive=keep_alive)
        client = make(endpoint, recorder, options)
        yield client, live.process
    finally:
        with anyio.CancelScope(shield=True):
            await end(live.process, client, recorder)


def _imported() -> type[SdkClient]:
    """The SDK is imported before a launch begins, and only where it is asked for."""
    try:
        from bench.wire.sdk import SdkClient
    except ImportError as error:
        raise BenchError(
            f"the client sdk is the official Python SDK, which cannot be loaded: {error}; "
            "try: pip install 'mcp-latency[sdk]'"
        ) from error
    return SdkClient


class SdkSession:
    """What `Session` is to our own wire; the SDK chooses ids, headers and what else it asks.

    Tools are not listed beforehand: the SDK does so by itself, when it wants their schemas.
    """

    def __init__(
        self,
        server: Server,
        recorder: Recorder,
        client: SdkClient,
        process: Process | None,
        limits: Limits,
    ) -> None:
        self.process = process
        self._server = server
        self._recorder = recorder
        self._client = client
        self._limits = limits

    @property
    def response_form(self) -> str | None:
        """How replies came: `line`, `json` or `sse`; None before the first."""
        return self._client.heard.response_form

    def trace(self, traceparent: Callable[[int], str]) -> None:
        """Let each call carry the parent that `traceparent` gives for its id."""
        self._client.tap.traceparent = traceparent

    def honour(self, shelf: Shelf) -> None:
        """Nothing: the SDK's client has a cache of its own, or none."""

    async def open(self) -> Agreement:
        """Whatever the SDK does to connect; SetupError where it fails."""
        await self._client.open(self._limits.setup_s)
        if self._client.closed:
            raise SetupError(
                f'the SDK\'s client could not connect to server "{self._server.name}": '
                f"{self._client.why}{await why_gone(self.process, self._recorder)}",
                phase="connect",
                outcome=self._client.outcome,
            )
        client = self._client.client
        info = client.server_info
        facts = self._recorder.facts
        facts["client_version"] = importlib.metadata.version("mcp")
        facts["protocol_version"] = client.protocol_version
        facts["server_info"] = {} if info is None else {"name": info.name, "version": info.version}
        return Agreement(client.protocol_version, server_info=facts["server_info"])

    def follow(self, scenario: Scenario) -> None:
        """This client is for plain tool calls; UsageError where a scenario wants more of it."""
        plain = all(
            step == Step(tool=step.tool, arguments=step.arguments) for step in scenario.call
        )
        if not plain or scenario.answer or scenario.listen:
            raise UsageError(
                f'scenario "{scenario.name}" does more than call tools, which only our own client '
                "can; try: --client wire"
            )

    async def prepare(self, scenario: Scenario) -> None:
        """Nothing: a call is the first thing that is asked."""

    def request(self, step: Step) -> Ask:
        """One call; its id and bytes are known once the SDK has sent it."""
        return self._client.tool(step.tool, step.arguments)

    def cheapest(self) -> tuple[str, Ask]:
        """The name and the cheapest request: the null tool, else the era's own."""
        if self._server.null_tool is not None:
            return self._server.null_tool, self.request(Step(tool=self._server.null_tool))
        ask = self._client.cheapest()
        return ask.method, ask

    async def call(self, out: Ask) -> Reply:
        """One call; a failure is an outcome of its reply."""
        return await self._client.ask(out, limit_s=self._limits.call_s)

    async def renewed(self) -> bool:
        """Never by us: what the SDK does about a lost session is its own."""
        return False

    async def lost(self, reply: Reply) -> bool:
        """Whether no other reply can follow."""
        return await is_lost(reply, self.process, closed=self._client.closed)

    async def why_gone(self) -> str:
        """How the process left, if it did, its last words, and what it printed amiss."""
        self._client.hear()
        ended = f"; its client ended: {self._client.why}" if self._client.why else ""
        return f"{ended}{await why_gone(self.process, self._recorder)}"

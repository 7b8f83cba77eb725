"""The official Python SDK's client, `mcp.Client`, as its users have it, with a tap on its wire.

The SDK's: the client, its session, its HTTP transport and HTTP client, its framing over stdio.
Ours: the process over stdio, the event loop, and the tap. Loaded only with that client.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import anyio
import httpx2
import mcp
import pydantic
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bench.errors import BenchError
from bench.model import Endpoint, Outcome, Reply
from bench.recorder import Recorder
from bench.wire.tap import UNDER_WAY, Ask, Tap
from bench.wire.tapped import pipes, tapped

TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as `mcp` makes its own HTTP client
KEPT_CONNECTIONS = 20
LEAVE_LIMIT_S = 5.0
QUOTED_LETTERS = 300
FAILURES = (
    mcp.MCPError,
    pydantic.ValidationError,
    RuntimeError,
    httpx2.HTTPError,
    OSError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    BenchError,
)
logging.getLogger("mcp").addHandler(logging.NullHandler())  # else its warnings reach stderr


class SdkClient:
    """One connected `mcp.Client`, in a task of its own: its scopes open and close there.

    `options` are the client's own, by its names; none is its defaults. `closed`: no further reply
    can follow, and `why` says in words what ended it.
    """

    def __init__(self, endpoint: Endpoint, recorder: Recorder, options: Mapping[str, Any]) -> None:
        self.closed = False
        self.why = ""
        self.tap = Tap(recorder)
        self._endpoint = endpoint
        self._recorder = recorder
        self._options = options
        self._client: mcp.Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._up, self._leave = asyncio.Event(), asyncio.Event()
        # A server that is leaving may still write: the pipe stays open until it has left.
        self._kept = -1 if endpoint.read_fd is None else os.dup(endpoint.read_fd)

    async def open(self, limit_s: float) -> None:
        """Connect and agree on a version as the client does; else `closed`, and `why`."""
        if self._endpoint.url is not None:
            self._recorder.mark("connecting")
        self._task = asyncio.get_running_loop().create_task(self._live())
        self.why = f"no connection within {limit_s:g} s"
        with anyio.move_on_after(limit_s):
            await self._up.wait()
        self.closed = self._client is None or self._task.done()
        self.tap.opening = False

    @property
    def client(self) -> mcp.Client:
        """The SDK's client, once it is open."""
        assert self._client is not None
        return self._client

    def tool(self, name: str, arguments: Mapping[str, Any]) -> Ask:
        """A call of a tool."""
        return Ask("tools/call", partial(self.client.call_tool, name, dict(arguments)))

    def cheapest(self) -> Ask:
        """The cheapest request of the era that was agreed on."""
        version = self.client.protocol_version
        if version in MODERN_PROTOCOL_VERSIONS:
            return Ask("server/discover", partial(self.client.session.send_discover, version))
        return Ask("ping", self.client.session.send_ping)

    async def ask(self, ask: Ask, *, limit_s: float) -> Reply:
        """One call as its user sees it: from just before the SDK is called until it returns."""
        outcome: Outcome = "timeout"
        why = f"no reply within {limit_s:g} s"
        received_ns = error_code = None
        token = UNDER_WAY.set(ask)
        sent_ns = self._recorder.clock()
        try:
            with anyio.move_on_after(limit_s):
                said = await ask.make()
                received_ns = self._recorder.clock()
                outcome, why = "tool_error" if getattr(said, "is_error", False) else "ok", ""
        except FAILURES as error:
            received_ns = self._recorder.clock() if ask.reply else None
            outcome, why = "protocol_error" if ask.reply else "transport_error", said_of(error)
            error_code = error.code if isinstance(error, mcp.MCPError) and ask.reply else None
            if ask.reply and not isinstance(error, mcp.MCPError):
                self._recorder.facts.setdefault("refused", why[:QUOTED_LETTERS])
        finally:
            UNDER_WAY.reset(token)
        return Reply(
            outcome,
            sent_ns,
            received_ns=received_ns,
            error_code=error_code,
            body=ask.reply,
            local_port=ask.local_port,
            server_timing=ask.server_timing,
            why=why or self.why,
            wire_requests=ask.requests,
            out_ns=ask.out_ns,
            in_ns=ask.in_ns,
        )

    async def close(self) -> None:
        """Leave the client as its user does; over stdio that ends the server's input."""
        self._leave.set()
        if self._task is not None:
            with anyio.move_on_after(LEAVE_LIMIT_S):
                await asyncio.wait([self._task])
            self._task.cancel()
            await asyncio.wait([self._task])

    def finish(self) -> None:
        """Give back what is held, once the server has left."""
        if self._kept >= 0:
            os.close(self._kept)
            self._kept = -1

    async def _live(self) -> None:
        try:
            async with self._connected() as self._client:
                self.why = ""
                self._up.set()
                await self._leave.wait()
        except* FAILURES as group:
            self.why = said_of(group)
        finally:
            self.closed = True
            self._up.set()

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[mcp.Client]:
        async with contextlib.AsyncExitStack() as stack:
            if self._endpoint.url is None:
                transport = pipes(self._endpoint, self.tap)
            else:
                http = await stack.enter_async_context(self._http())
                transport = streamable_http_client(self._endpoint.url, http_client=http)
            client = mcp.Client(tapped(transport, self.tap), **self._options)
            yield await stack.enter_async_context(client)

    def _http(self) -> httpx2.AsyncClient:
        """The HTTP client that the SDK would make, with our headers and hooks."""
        kept = KEPT_CONNECTIONS if self._endpoint.keep_alive else 0
        return httpx2.AsyncClient(
            headers=dict(self._endpoint.headers),
            timeout=TIMEOUT,
            limits=httpx2.Limits(
                max_connections=100, max_keepalive_connections=kept, keepalive_expiry=5.0
            ),
            event_hooks={"request": [self.tap.requested], "response": [self.tap.responded]},
        )


def said_of(error: BaseException) -> str:
    """The words of an error; of a group, those of the first in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__

"""The official Python SDK's client, `mcp.Client`, as its users have it, with a tap on its wire.

The SDK's: the client, its session, its HTTP transport and HTTP client, its framing over stdio.
Ours: the process over stdio, the event loop, and the tap. Loaded only with that client.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import traceback
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import anyio
import httpx2
import mcp
import pydantic
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bench import jsonrpc
from bench.model import Endpoint, Outcome, Reply
from bench.recorder import Recorder
from bench.wire.heard import Heard
from bench.wire.tap import UNDER_WAY, Ask, Tap
from bench.wire.tapped import hooks, pipes, tapped

TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as `mcp` makes its own HTTP client
KEPT_CONNECTIONS = 20
LEAVE_LIMIT_S = 5.0
QUOTED_LETTERS = 300
FAILURES = (
    mcp.MCPError,
    pydantic.ValidationError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    UnicodeDecodeError,  # what a server writes that is no UTF-8 ends the SDK's client
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
)
TIMEOUTS = (TimeoutError, httpx2.TimeoutException)
logging.getLogger("mcp").addHandler(logging.NullHandler())  # else its warnings reach stderr


class SdkClient:
    """One connected `mcp.Client`, in a task of its own: its scopes open and close there.

    `options` are the client's own, by its names; none is its defaults. `closed`: no further reply
    can follow; `why` says in words what ended it, and `outcome` what that makes of a call.
    """

    def __init__(self, endpoint: Endpoint, recorder: Recorder, options: Mapping[str, Any]) -> None:
        self.closed = False
        self.why = ""
        self.outcome: Outcome = "transport_error"
        self.tap = Tap(recorder.clock)
        self.heard = Heard(recorder)
        self._endpoint = endpoint
        self._recorder = recorder
        self._options = options
        self._client: mcp.Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._up, self._leave = asyncio.Event(), asyncio.Event()
        # A server that is leaving may still write: the pipe stays open until it has left.
        self._kept = -1 if endpoint.read_fd is None else os.dup(endpoint.read_fd)
        recorder.unread.append(self.hear)

    async def open(self, limit_s: float) -> None:
        """Connect and agree on a version as the client does; else `closed`, and `why`.

        Over HTTP the launch begins here, before the SDK's HTTP client is made.
        """
        if self._endpoint.url is not None:
            self._recorder.mark("began")
        self._task = asyncio.get_running_loop().create_task(self._live())
        self._task.add_done_callback(self._ended)
        with anyio.move_on_after(limit_s):
            await self._up.wait()
        if not self._up.is_set():
            self.closed, self.outcome = True, "timeout"
            self.why = f"no connection within {limit_s:g} s"
        self.hear()
        self.heard.opening = False
        self._raise_fault()

    def hear(self) -> None:
        """Read what the tap has kept since the last time."""
        self.heard.hear(self.tap.take())

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
        failure: BaseException | None = None
        said: object = None
        received_ns = None
        token = UNDER_WAY.set(ask)
        sent_ns = self._recorder.clock()
        try:
            with anyio.move_on_after(limit_s):
                sent_ns = self._recorder.clock()  # once more: to set a limit takes microseconds
                said = await ask.make()
                received_ns = self._recorder.clock()
        except (*FAILURES, RuntimeError) as error:
            received_ns = self._recorder.clock()
            if not is_theirs(error):
                raise
            failure = error
        finally:
            UNDER_WAY.reset(token)
        self.hear()
        if failure is not None:
            return self._failed(ask, sent_ns, received_ns, failure)
        if received_ns is None:
            why = f"no reply within {limit_s:g} s"
            return _reply(ask, Reply("timeout", sent_ns, why=why))
        outcome: Outcome = "tool_error" if getattr(said, "is_error", False) else "ok"
        return _reply(ask, Reply(outcome, sent_ns, received_ns=received_ns))

    def _failed(
        self, ask: Ask, sent_ns: int, received_ns: int | None, error: BaseException
    ) -> Reply:
        """What an error makes of a call: a reply that the SDK refuses, or none."""
        why = said_of(error)
        if not ask.reply or _is_closed(error, ask.reply):
            return _reply(ask, Reply(outcome_of(error), sent_ns, why=why))
        refusal = Reply("protocol_error", sent_ns, received_ns=received_ns, why=why)
        if isinstance(error, mcp.MCPError):
            refusal.error_code = error.code
        else:
            self._recorder.facts.setdefault("refused", why[:QUOTED_LETTERS])
        return _reply(ask, refusal)

    async def close(self) -> None:
        """Leave the client as its user does; over stdio that ends the server's input."""
        self._leave.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=LEAVE_LIMIT_S)
            self._task.cancel()
            await asyncio.wait([self._task], timeout=LEAVE_LIMIT_S)

    def finish(self) -> None:
        """Give back what is held, once the server has left."""
        if self._kept >= 0:
            os.close(self._kept)
            self._kept = -1
        self._raise_fault()

    async def _live(self) -> None:
        try:
            async with self._connected() as self._client:
                self._up.set()
                await self._leave.wait()
        except* (*FAILURES, RuntimeError) as group:
            theirs, ours = group.split(is_theirs)
            if theirs is not None:
                self.why, self.outcome = said_of(theirs), outcome_of(theirs)
            if ours is not None:
                raise ours from None

    def _ended(self, _: asyncio.Task[None]) -> None:
        self.closed = True
        self._up.set()

    def _raise_fault(self) -> None:
        """A fault of our own in the client's task is raised where it is seen."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

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
            event_hooks=hooks(self.tap),
        )


def is_theirs(error: BaseException) -> bool:
    """Whether the SDK or its server failed; a RuntimeError that the SDK did not raise is our bug.

    The SDK raises it for a version or a structured content that it does not take.
    """
    if not isinstance(error, RuntimeError):
        return isinstance(error, FAILURES)
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).partition(".")[0] == mcp.__name__


def outcome_of(error: BaseException) -> Outcome:
    """What an error without a reply makes of its request."""
    error = _first(error)
    late = isinstance(error, TIMEOUTS)
    late = late or (isinstance(error, mcp.MCPError) and error.code == REQUEST_TIMEOUT)
    return "timeout" if late else "transport_error"


def _is_closed(error: BaseException, reply: bytes) -> bool:
    """Whether the SDK gave the connection up; a server may use the same code in an error of its."""
    closed = isinstance(error, mcp.MCPError) and error.code == CONNECTION_CLOSED
    return closed and not jsonrpc.error_of(reply)


def said_of(error: BaseException) -> str:
    """The words of an error; of a group, those of the first in it."""
    error = _first(error)
    return str(error) or type(error).__name__


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reply(ask: Ask, reply: Reply) -> Reply:
    """The reply, with what the tap saw of its request."""
    reply.body = ask.reply
    reply.local_port = ask.local_port
    reply.server_timing = ask.server_timing
    reply.wire_requests = ask.requests
    reply.connecting_ns, reply.connected_ns = ask.connecting_ns, ask.connected_ns
    reply.out_ns, reply.in_ns = ask.out_ns, ask.in_ns
    return reply

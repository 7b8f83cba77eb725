"""What the official SDK's client really sends and gets, recorded where its bytes leave and arrive.

Loaded only with that client: it needs the SDK.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import httpx2
from mcp_types import JSONRPCRequest

from bench import jsonrpc
from bench.recorder import Recorder
from bench.wire.sse import SseReader

STEPS = {"initialize": "initialize", "server/discover": "discover"}
FORMS = {"application/json": "json", "text/event-stream": "sse"}
SESSION, SERVER_TIMING = "mcp-session-id", "server-timing"


class Ask:
    """One thing asked of the SDK's client by `make`, and what of it was seen on the wire.

    `method`: the request that is the thing itself; others that it causes are only counted.
    """

    def __init__(self, method: str, make: Callable[[], Awaitable[object]]) -> None:
        self.method = method
        self.make = make
        self.body = b""
        self.reply = b""
        self.id: int | None = None
        self.requests = 0
        self.out_ns: int | None = None
        self.in_ns: int | None = None
        self.local_port: int | None = None
        self.server_timing: bytes | None = None


UNDER_WAY: ContextVar[Ask | None] = ContextVar("under_way", default=None)


class Tap:
    """Records every message of one launch, and gives each ask what belongs to it.

    While `opening`, the first request's stamps and those of the connection become marks.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.opening = True
        self.response_form: str | None = None
        self.traceparent: Callable[[int], str] | None = None
        self.clock = recorder.clock
        self._recorder = recorder
        self._asks: dict[object, Ask] = {}
        self._steps: dict[object, str] = {}
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()

    def claim(self, request: JSONRPCRequest) -> None:
        """Count a request for the ask that causes it, in whose context the SDK hands it over."""
        ask = UNDER_WAY.get()
        if ask is None:
            return
        ask.requests += 1
        if request.method == ask.method and isinstance(request.id, int):
            ask.id = request.id
            self._asks[request.id] = ask
            if self.traceparent is not None and request.params is not None:
                meta = request.params.setdefault("_meta", {})
                meta["traceparent"] = self.traceparent(request.id)

    def out(self, body: bytes, at_ns: int) -> None:
        """A message was handed over for sending at `at_ns`."""
        envelope = jsonrpc.read(body)
        assert envelope is not None
        method = envelope.method if isinstance(envelope.method, str) else None
        id = envelope.id if isinstance(envelope.id, int | float | str) else None
        self._recorder.message(at_ns, "out", envelope.kind, body, method=method, id=id)
        ask = self._asks.get(id)
        if ask is not None and method == ask.method:
            ask.out_ns, ask.body = at_ns, body
        if self.opening and method in STEPS:
            self._steps[id] = STEPS[method]
            self._recorder.marks[f"{STEPS[method]}_sent"] = at_ns

    def incoming(self, body: bytes, at_ns: int, response: httpx2.Response | None = None) -> None:
        """A message was whole at `at_ns`; over HTTP it came with `response`."""
        envelope = jsonrpc.read(body)
        if envelope is None or (kind := envelope.kind) == "noise":
            return self._recorder.noise_line(at_ns, body)
        method = envelope.method if isinstance(envelope.method, str) else None
        id = envelope.id if isinstance(envelope.id, int | float | str) else None
        status = None if response is None else response.status_code
        self._recorder.message(at_ns, "in", kind, body, method=method, id=id, http_status=status)
        if kind == "request":
            return self._recorder.count("server_requests")
        if kind == "notification":
            return
        if id in self._steps:
            self._recorder.marks[f"{self._steps.pop(id)}_received"] = at_ns
        ask = self._asks.pop(id, None)
        if ask is not None:
            ask.in_ns, ask.reply = at_ns, body
            if response is not None:
                _of_response(ask, response)

    async def requested(self, request: httpx2.Request) -> None:
        """The HTTP client is about to send: `connect` is traced until the first call only."""
        at_ns = self.clock()
        if self.opening:
            request.extensions = {**request.extensions, "trace": self._traced}
        if request.method == "DELETE":
            self._recorder.count("teardown_requests")
        if SESSION in request.headers:
            self._recorder.facts["session"] = True
        if request.content:
            self.out(request.content, at_ns)

    async def responded(self, response: httpx2.Response) -> None:
        """A response has begun: count its connection where that is new, and listen in on it."""
        connection = response.extensions.get("network_stream")
        if connection is not None and connection not in self._connections:
            self._connections.add(connection)
            self._recorder.count("connections_opened")
        if response.headers.get("content-encoding", "identity") != "identity":
            return self._recorder.count("compressed_replies")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        form = FORMS.get(kind)
        if form is not None and response.request.method == "POST":
            self.response_form = form
        if form is not None and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Body(response, response.stream, self, form)

    async def _traced(self, event: str, _: object) -> None:
        """The opening request begins where its connection stands: connecting has its own time."""
        marks = self._recorder.marks
        if event == "connection.connect_tcp.complete" and self.opening:
            at_ns = marks.setdefault("connected", self.clock())
            for step in self._steps.values():
                marks[f"{step}_sent"] = max(at_ns, marks[f"{step}_sent"])


class _Body(httpx2.AsyncByteStream):
    """Hands the body on chunk by chunk, after a look at the messages in it."""

    def __init__(
        self, response: httpx2.Response, stream: httpx2.AsyncByteStream, tap: Tap, form: str
    ) -> None:
        self._response = response
        self._stream = stream
        self._tap = tap
        self._events = SseReader() if form == "sse" else None
        self._parts: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        at_ns = 0
        async for chunk in self._stream:
            at_ns = self._tap.clock()
            if self._events is None:
                self._parts.append(chunk)
            else:
                for event in self._events.feed(chunk):
                    self._tap.incoming(event, at_ns, self._response)
            yield chunk
        if self._parts:
            self._tap.incoming(b"".join(self._parts), at_ns, self._response)

    async def aclose(self) -> None:
        """As the SDK wants it, at the end or before."""
        await self._stream.aclose()


def _of_response(ask: Ask, response: httpx2.Response) -> None:
    connection = response.extensions.get("network_stream")
    address = None if connection is None else connection.get_extra_info("client_addr")
    ask.local_port = address[1] if address else None
    timing = response.headers.get(SERVER_TIMING)
    ask.server_timing = timing.encode() if timing else None

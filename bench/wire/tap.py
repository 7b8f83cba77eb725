"""What the official SDK's client really sends and gets, recorded where its bytes leave and arrive.

Loaded only with that client: it needs the SDK.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import httpx2
from mcp_types import JSONRPCRequest

from bench import jsonrpc
from bench.recorder import Recorder
from bench.wire.sse import SseReader

STEPS = {"initialize": "initialize", "server/discover": "discover"}
FORMS = {b"application/json": "json", b"text/event-stream": "sse"}
SESSION, SERVER_TIMING = b"mcp-session-id", b"server-timing"


class Source(NamedTuple):
    """The HTTP response that a message came in."""

    status: int
    local_port: int | None
    server_timing: bytes | None


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
        self._ports: weakref.WeakKeyDictionary[Any, int | None] = weakref.WeakKeyDictionary()

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

    def incoming(self, body: bytes, at_ns: int, source: Source | None = None) -> None:
        """A message was whole at `at_ns`; over HTTP it came from `source`."""
        envelope = jsonrpc.read(body)
        if envelope is None or (kind := envelope.kind) == "noise":
            return self._recorder.noise_line(at_ns, body)
        method = envelope.method if isinstance(envelope.method, str) else None
        id = envelope.id if isinstance(envelope.id, int | float | str) else None
        status = None if source is None else source.status
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
            if source is not None:
                ask.local_port, ask.server_timing = source.local_port, source.server_timing

    async def requested(self, request: httpx2.Request) -> None:
        """The HTTP client is about to send: `connect` is traced until the first call only."""
        at_ns = self.clock()
        if self.opening:
            request.extensions = {**request.extensions, "trace": self._traced}
        if request.method == "DELETE":
            self._recorder.count("teardown_requests")
        if request.content:
            self.out(request.content, at_ns)

    async def responded(self, response: httpx2.Response) -> None:
        """A response has begun: count its connection where that is new, and listen in on it."""
        headers = {name.lower(): value for name, value in response.headers.raw}
        if SESSION in headers:
            self._recorder.facts["session"] = True
        if self.opening and response.status_code >= 400:
            self._declined()
        port = self._port(response.extensions.get("network_stream"))
        if headers.get(b"content-encoding", b"identity") != b"identity":
            return self._recorder.count("compressed_replies")
        form = FORMS.get(headers.get(b"content-type", b"").partition(b";")[0].strip().lower())
        if form is not None and response.request.method == "POST":
            self.response_form = form
        if form is not None and isinstance(response.stream, httpx2.AsyncByteStream):
            source = Source(response.status_code, port, headers.get(SERVER_TIMING))
            response.stream = _Body(response.stream, source, self, form)

    def _declined(self) -> None:
        """An opening that HTTP refuses is answered with that: its error need not bear our id."""
        at_ns = self.clock()
        self._recorder.marks.update({f"{step}_received": at_ns for step in self._steps.values()})
        self._steps.clear()

    def _port(self, connection: Any) -> int | None:
        """The local port of a connection, which is counted where it is new."""
        if connection is None:
            return None
        if connection not in self._ports:
            self._recorder.count("connections_opened")
            self._ports[connection] = (connection.get_extra_info("client_addr") or (None, None))[1]
        return self._ports[connection]

    async def _traced(self, event: str, _: object) -> None:
        """The opening request begins where its connection stands: connecting has its own time."""
        marks = self._recorder.marks
        if event == "connection.connect_tcp.complete" and self.opening:
            at_ns = marks.setdefault("connected", self.clock())
            for step in self._steps.values():
                marks[f"{step}_sent"] = max(at_ns, marks[f"{step}_sent"])


class _Body(httpx2.AsyncByteStream):
    """Hands the body on chunk by chunk, after a look at the messages in it."""

    def __init__(self, stream: httpx2.AsyncByteStream, source: Source, tap: Tap, form: str) -> None:
        self._stream = stream
        self._source = source
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
                    self._tap.incoming(event, at_ns, self._source)
            yield chunk
        if self._parts:
            self._tap.incoming(b"".join(self._parts), at_ns, self._source)

    async def aclose(self) -> None:
        """As the SDK wants it, at the end or before."""
        await self._stream.aclose()

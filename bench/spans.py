"""Receives the OpenTelemetry spans of one launch's server over HTTP on loopback, and reads them."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

import anyio
import httptools

from bench.errors import BenchError

EXPORT_EVERY_MS = 200
SETTLE_S, SILENT_S, POLL_S = 2.0, 0.5, 0.01
MOST_BYTES = 1 << 28
MOST_NS = 1 << 62
PATH, FORM = b"/v1/traces", b"application/x-protobuf"


class Span(NamedTuple):
    """A SERVER span: whose call it answers, and how long it took by the server's wall clock."""

    trace_id: bytes
    parent_id: bytes
    took_ns: int


def require() -> None:
    """Raise BenchError where what reads spans is not installed."""
    try:
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: F401
    except ImportError as error:
        raise BenchError(
            "--spans reads protobuf, which is not installed; try: pip install 'mcp-latency[spans]'"
        ) from error


def decode(body: bytes) -> Iterator[Span]:
    """The SERVER spans in an ExportTraceServiceRequest; none where it is not one."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent

    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        return
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                took_ns = span.end_time_unix_nano - span.start_time_unix_nano
                timed = span.start_time_unix_nano and abs(took_ns) < MOST_NS
                if timed and span.kind == Sent.SPAN_KIND_SERVER:
                    yield Span(span.trace_id, span.parent_span_id, took_ns)


class Receiver:
    """Accepts spans in a thread of its own, which keeps their bytes and reads them afterwards.

    An exporter posts a batch every EXPORT_EVERY_MS; to take one holds the interpreter for some
    ten microseconds, mostly while the client waits for a reply. The thread runs where the client
    runs: its core is idle during a call, the server's is not.

    Each call gets a trace of its own: this launch's 8 bytes, then the id of its request.
    """

    def __init__(self) -> None:
        self.connections: set[asyncio.Transport] = set()
        self.kept_bytes = 0
        self.bodies: deque[bytes] = deque()
        self._launch = secrets.token_bytes(8)
        self._asked: set[int] = set()
        self._found: dict[int, tuple[bool, int]] = {}
        self._heard = False
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="spans", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that make a server's OpenTelemetry SDK send its spans here, unsampled.

        OpenTelemetry: OTLP exporter and SDK environment variables. A proxy is not to be asked.
        """
        base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
        direct = f"{direct},127.0.0.1" if direct else "127.0.0.1"
        return {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_TRACES_SAMPLER": "parentbased_always_on",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": base,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{base}{PATH.decode()}",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": str(EXPORT_EVERY_MS),
            "no_proxy": direct,
            "NO_PROXY": direct,
        }

    def traceparent(self, id: int) -> str:
        """The trace context of the request with this id (W3C Trace Context, 3.2), sampled."""
        self._asked.add(id)
        return f"00-{self._launch.hex()}{id:016x}-{id:016x}-01"

    async def settled(self) -> None:
        """Wait until every call that was made has its span, as long as they may be under way."""
        with anyio.move_on_after(SETTLE_S if self._heard or self.bodies else SILENT_S):
            while self._asked - self.durations().keys():
                await anyio.sleep(POLL_S)

    async def drained(self) -> None:
        """Wait until all that a server sent before it left has been read."""
        with anyio.move_on_after(SILENT_S):
            await anyio.sleep(POLL_S)
            while self.connections:
                await anyio.sleep(POLL_S)

    def durations(self) -> Mapping[int, int]:
        """The time in ns that the server gave each request, by its id, of the spans so far.

        A span right under the call's own counts before one further down its trace, then the longer
        one: a gateway's span holds that of the server behind it.
        """
        while self.bodies:
            self._heard = True
            for span in decode(self.bodies.popleft()):
                self._take(span)
        return {id: took_ns for id, (_, took_ns) in self._found.items()}

    def _take(self, span: Span) -> None:
        id = int.from_bytes(span.trace_id[8:], "big")
        if span.trace_id[:8] == self._launch and id in self._asked:
            direct = span.parent_id == id.to_bytes(8, "big")
            known = self._found.get(id, (False, -MOST_NS))
            self._found[id] = max(known, (direct, span.took_ns))

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        serving = self._loop.create_server(lambda: _Exporter(self), sock=self._socket)
        server = self._loop.run_until_complete(serving)
        self._listening.set()
        self._loop.run_forever()
        server.close()
        for transport in self.connections:
            transport.abort()
        self._loop.run_until_complete(server.wait_closed())
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


class _Exporter(asyncio.Protocol):
    """One connection of an exporter: POSTs of protobuf, plain or gzip, each answered at once."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._receiver.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._receiver.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._transport.close()

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._target, self._headers, self._parts = b"", {}, []

    def on_url(self, url: bytes) -> None:
        """Called by the parser."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self._headers[name.lower()] = value

    def on_body(self, chunk: bytes) -> None:
        """Called by the parser; beyond MOST_BYTES in a launch nothing more is kept."""
        self._receiver.kept_bytes += len(chunk)
        if self._receiver.kept_bytes <= MOST_BYTES:
            self._parts.append(chunk)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._transport.write(ANSWERS[self._taken()])

    def _taken(self) -> int:
        """Keep what is meant for us; the status to answer with."""
        if self._target != PATH or self._parser.get_method() != b"POST":
            return 404
        if self._headers.get(b"content-type", b"").partition(b";")[0].strip() != FORM:
            return 415
        body: bytes | None = b"".join(self._parts)
        if self._headers.get(b"content-encoding") == b"gzip":
            body = _unzipped(b"".join(self._parts))
        if body is None:
            return 400
        self._receiver.bodies.append(body)
        return 200


def _unzipped(body: bytes) -> bytes | None:
    try:
        return zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES)
    except zlib.error:
        return None


ANSWERS: Mapping[int, bytes] = {
    status: b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: 0\r\n\r\n"
    % (status, word, FORM)
    for status, word in (
        (200, b"OK"),
        (400, b"Bad Request"),
        (404, b"Not Found"),
        (415, b"Unsupported Media Type"),
    )
}

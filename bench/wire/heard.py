"""What a tap has kept, read and told: to the recorder, and to each ask what belongs to it.

Loaded only with the official SDK's client. None of this is done while a call is under way.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx2
from mcp_types import JSONRPCRequest

from bench import jsonrpc
from bench.jsonrpc import Envelope
from bench.recorder import Recorder
from bench.wire.lines import LineReader
from bench.wire.sse import SseReader
from bench.wire.tap import Ask, Entry, Exchange, Point, Source

STEPS = {"initialize": "initialize", "server/discover": "discover"}
FORMS = {b"application/json": "json", b"text/event-stream": "sse"}
SESSION, SERVER_TIMING = b"mcp-session-id", b"server-timing"
ANY_LENGTH = sys.maxsize  # the SDK sets its own limits, and has the message already


class Heard:
    """Reads the entries of one launch's tap, in their order and in any portions.

    While `opening`, the first request's stamps and those of the connection become marks.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.opening = True
        self.response_form: str | None = None
        self._recorder = recorder
        self._lines = LineReader(limit_bytes=ANY_LENGTH)
        self._asks: dict[object, Ask] = {}
        self._steps: dict[object, str] = {}
        self._ports: weakref.WeakKeyDictionary[Any, int | None] = weakref.WeakKeyDictionary()
        self._readers: Mapping[Point, Callable[[int, Any, Any], None]] = {
            "claimed": self._claimed,
            "connecting": self._connecting,
            "connected": self._connected,
            "out": self._out,
            "answered": self._answered,
            "in": self._in,
            "end": self._end,
        }

    def hear(self, entries: Iterable[Entry]) -> None:
        """Read what has passed."""
        for point, at_ns, what, exchange in entries:
            self._readers[point](at_ns, what, exchange)

    def _claimed(self, _: int, what: tuple[object, Ask], __: None) -> None:
        """Count a request for the ask that causes it; the one that is the ask itself is its own."""
        message, ask = what
        if not isinstance(message, JSONRPCRequest):
            return
        ask.requests += 1
        if message.method == ask.method and isinstance(message.id, int):
            ask.id = message.id
            self._asks[message.id] = ask

    def _connecting(self, at_ns: int, _: None, exchange: Exchange) -> None:
        exchange.connecting_ns = at_ns
        if self.opening:
            self._recorder.marks.setdefault("connecting", at_ns)

    def _connected(self, at_ns: int, what: tuple[Any, int | None], exchange: Exchange) -> None:
        """A connection stands; with TLS it does so twice, and the second counts."""
        stream, port = what
        self._ports[stream] = port
        if exchange.connected_ns is None:
            self._recorder.count("connections_opened")
        exchange.connected_ns = at_ns
        if self.opening and self._recorder.marks.get("connecting") == exchange.connecting_ns:
            self._recorder.marks["connected"] = at_ns

    def _out(self, at_ns: int, data: bytes | None, exchange: Exchange | None) -> None:
        """A message began to be handed to the system; over HTTP it is in the exchange."""
        if exchange is not None and exchange.request.method == "DELETE":
            self._recorder.count("teardown_requests")
        body = (data or b"")[:-1] if exchange is None else exchange.request.content
        if not body:
            return
        envelope = jsonrpc.read(body)
        assert envelope is not None
        method, id = _named(envelope)
        self._recorder.message(at_ns, "out", envelope.kind, body, method=method, id=id)
        ask = self._asks.get(id)
        if ask is not None and method == ask.method:
            ask.out_ns, ask.body = at_ns, body
            if exchange is not None:
                ask.connecting_ns, ask.connected_ns = exchange.connecting_ns, exchange.connected_ns
        if self.opening and method in STEPS:
            self._steps[id] = STEPS[method]
            self._recorder.marks[f"{STEPS[method]}_sent"] = at_ns

    def _answered(self, at_ns: int, response: httpx2.Response, exchange: Exchange) -> None:
        """A response has begun; its messages are read where it is of a form that has any."""
        headers = {name.lower(): value for name, value in response.headers.raw}
        if SESSION in headers:
            self._recorder.facts["session"] = True
        if self.opening and response.status_code >= 400:
            self._declined(at_ns)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            return self._recorder.count("compressed_replies")
        form = FORMS.get(headers.get(b"content-type", b"").partition(b";")[0].strip().lower())
        if form is not None and response.request.method == "POST":
            self.response_form = form
        exchange.form = form
        exchange.events = SseReader(limit_bytes=ANY_LENGTH) if form == "sse" else None
        stream = response.extensions.get("network_stream")
        port = None if stream is None else self._ports.get(stream)
        exchange.source = Source(response.status_code, port, headers.get(SERVER_TIMING))

    def _declined(self, at_ns: int) -> None:
        """An opening that HTTP refuses is answered with that: its error need not bear our id."""
        self._recorder.marks.update({f"{step}_received": at_ns for step in self._steps.values()})
        self._steps.clear()

    def _in(self, at_ns: int, chunk: bytes, exchange: Exchange | None) -> None:
        if exchange is None:
            self.response_form = "line"
            for line in self._lines.feed(chunk):
                self._message(at_ns, line, None)
        elif exchange.events is not None:
            for event in exchange.events.feed(chunk):
                self._message(at_ns, event, exchange.source)
        elif exchange.form is not None:
            exchange.parts.append(chunk)
            exchange.whole_ns = at_ns

    def _end(self, _: int, __: None, exchange: Exchange) -> None:
        """The end of a body; one that is a single message was whole with its last part."""
        if exchange.parts:
            self._message(exchange.whole_ns, b"".join(exchange.parts), exchange.source)
            exchange.parts.clear()

    def _message(self, at_ns: int, body: bytes, source: Source | None) -> None:
        """A message was whole at `at_ns`; over HTTP it came from `source`."""
        envelope = jsonrpc.read(body)
        if envelope is None or (kind := envelope.kind) == "noise":
            return self._recorder.noise_line(at_ns, body)
        method, id = _named(envelope)
        status = None if source is None else source.status
        self._recorder.message(at_ns, "in", kind, body, method=method, id=id, http_status=status)
        if kind == "request":
            return self._recorder.count("server_requests")
        if kind == "response":
            self._replied(at_ns, body, id, source)

    def _replied(
        self, at_ns: int, body: bytes, id: int | float | str | None, source: Source | None
    ) -> None:
        if id in self._steps:
            self._recorder.marks[f"{self._steps.pop(id)}_received"] = at_ns
        ask = self._asks.pop(id, None)
        if ask is not None:
            ask.in_ns, ask.reply = at_ns, body
            if source is not None:
                ask.local_port, ask.server_timing = source.local_port, source.server_timing


def _named(envelope: Envelope) -> tuple[str | None, int | float | str | None]:
    """The method and the id of a message, each None where it has none."""
    method = envelope.method if isinstance(envelope.method, str) else None
    return method, envelope.id if isinstance(envelope.id, int | float | str) else None

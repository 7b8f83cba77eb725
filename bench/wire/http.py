"""The Streamable HTTP wire: one POST a message, replies as JSON or event stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

import anyio

from bench import jsonrpc, redact
from bench.errors import SetupError, UsageError
from bench.model import Endpoint, Headers, Outgoing, Reply
from bench.recorder import Recorder
from bench.wire.connection import SERVER_TIMING, Connection, connect, reason
from bench.wire.conversation import Answer, Conversation
from bench.wire.lines import MessageTooLong
from bench.wire.sse import SseReader

DRAIN_LIMIT_S = 1.0
EXCERPT_BYTES = 300
MOST_ANSWERS = 64  # under way at once, each on a connection
SESSION = b"mcp-session-id"
FORMS = {b"application/json": "json", b"text/event-stream": "sse"}


async def open(endpoint: Endpoint, recorder: Recorder) -> HttpWire:
    """Connect to the URL of `endpoint`; raises SetupError where nothing answers there."""
    wire = HttpWire(endpoint, recorder)
    recorder.mark("connecting")
    try:
        (await wire.connect()).opened_ns = None
    except OSError as error:
        raise SetupError(
            f"{redact.url(endpoint.url or '')} cannot be reached: {reason(error)}; "
            "try: is the server running, and on this port?",
            phase="connect",
        ) from error
    recorder.mark("connected")
    return wire


class HttpWire:
    """Keeps connections alive, or makes one anew for each exchange, before its clock starts.

    Mirrors the session id, and drains replies off the clock.
    """

    closing_cancels = True

    def __init__(self, endpoint: Endpoint, recorder: Recorder) -> None:
        assert endpoint.url is not None
        self.url = urlsplit(endpoint.url)
        if self.url.scheme != "http" or not self.url.hostname:
            raise UsageError(f'"{redact.url(endpoint.url)}" is no http:// address')
        self.response_form: str | None = None
        self.closed = False
        self._keep_alive = endpoint.keep_alive
        self._recorder = recorder
        self._talk = Conversation(recorder, limit_bytes=endpoint.limit_bytes)
        self.conversation = self._talk
        self._connections: list[Connection] = []
        self._session: str | None = None
        self._last_headers: Headers = ()
        self._answering: set[asyncio.Task[None]] = set()
        path = self.url.path or "/"
        self._target = f"{path}?{self.url.query}" if self.url.query else path
        self._common = "".join(f"{name}: {value}\r\n" for name, value in endpoint.headers)

    async def connect(self) -> Connection:
        """Open one more connection to the server."""
        assert self.url.hostname is not None
        began_ns = self._recorder.clock()
        port = self.url.port or 80
        connection = await connect(self.url.hostname, port, self._recorder.clock)
        connection.opened_ns = (began_ns, self._recorder.clock())
        connection.keep = self._keep_alive
        self._recorder.count("connections_opened")
        self._recorder.marks.setdefault("resolved", connection.resolved_ns)
        self._recorder.facts["address"] = connection.address
        self._connections.append(connection)
        return connection

    async def exchange(self, out: Outgoing, *, limit_s: float) -> Reply:
        """POST a request and wait for its reply; a failure is an outcome, never an exception."""
        post = Post(self._talk, out, self._answer)
        connection = await self._ready(post, limit_s)
        if connection is None:
            return await post.waiting.future
        request = self._head(out, "POST") + out.body
        reply = None
        with anyio.move_on_after(limit_s):
            connection.start(request, post)
            self._talk.sent(out, post.waiting.sent_ns)
            reply = await post.waiting.future
        reply = reply or self._talk.timed_out(post.waiting, limit_s)
        reply.local_port = connection.local_port
        reply.server_timing = post.server_timing
        if post.opened_ns is not None:
            reply.connecting_ns, reply.connected_ns = post.opened_ns
        if reply.outcome == "timeout":
            connection.abort("given up")
        if out.opens_session and post.session and 200 <= post.status < 300:
            self._session = post.session.decode("latin-1")
            self._recorder.facts["session"] = True
        if post.form is not None:
            self.response_form = post.form
        return reply

    async def notify(self, out: Outgoing, *, limit_s: float) -> Reply:
        """POST a notification; done when the server has accepted it (202)."""
        post = Post(self._talk, out, self._answer)
        if await self._start(post, limit_s) is not None:
            self._talk.sent(out, post.waiting.sent_ns)
        return await self._talk.outcome(post.waiting, limit_s)

    async def listen(self) -> None:
        """GET the stream for what belongs to no POST; a server may have none (405)."""
        get = Post(self._talk, Outgoing("GET", b"", headers=self._last_headers), self._answer)
        await self._start(get, DRAIN_LIMIT_S, verb="GET")

    async def close(self) -> None:
        """End the session, where there is one, with DELETE (2025-11-25, basic/transports)."""
        if self._session is not None:
            self._recorder.count("teardown_requests")
            bye = Outgoing(method="DELETE", body=b"", headers=self._last_headers)
            post = Post(self._talk, bye, self._answer)
            await self._start(post, DRAIN_LIMIT_S, verb="DELETE")
            await self._talk.outcome(post.waiting, DRAIN_LIMIT_S)
            self._session = None
        for task in self._answering:
            task.cancel()
        for connection in self._connections:
            connection.abort("the connection is closed")

    def end_input(self) -> bool:
        """Each request is an input of its own."""
        return False

    def finish(self) -> None:
        """Nothing is held."""

    async def _start(self, post: Post, limit_s: float, *, verb: str = "POST") -> Connection | None:
        """Send on a connection that is free; None where none is to be had."""
        connection = await self._ready(post, limit_s)
        if connection is not None:
            out = post.waiting.out
            connection.start(self._head(out, verb) + out.body, post)
        return connection

    async def _ready(self, post: Post, limit_s: float) -> Connection | None:
        """A connection for the post; None, and the post broken, where none is to be had."""
        why = f"no connection within {limit_s:g} s"
        with anyio.move_on_after(limit_s):
            try:
                connection = await self._free()
                post.opened_ns, connection.opened_ns = connection.opened_ns, None
                return connection
            except OSError as error:
                why = f"connecting failed: {reason(error)}"
        post.waiting.sent_ns = self._recorder.clock()
        post.broken(why)
        return None

    async def _free(self) -> Connection:
        """A connection with nothing under way; one that is only being drained is waited for."""
        for one in self._connections:
            if one.draining:
                with anyio.move_on_after(DRAIN_LIMIT_S):
                    await one.drained()
                if not one.idle:
                    one.abort("its response did not end")
            if one.usable():
                return one
        if self._keep_alive and any(one.closed for one in self._connections):
            self._recorder.count("reconnects")
        self._connections = [one for one in self._connections if not one.closed]
        return await self.connect()

    def _head(self, out: Outgoing, verb: str) -> bytes:
        self._last_headers = out.headers
        session = f"Mcp-Session-Id: {self._session}\r\n" if self._session else ""
        own = "".join(f"{name}: {value}\r\n" for name, value in out.headers)
        typed = f"Content-Type: application/json\r\nContent-Length: {len(out.body)}\r\n"
        return (
            f"{verb} {self._target} HTTP/1.1\r\n"
            f"Host: {self.url.netloc.rpartition('@')[2]}\r\n"
            "Accept: application/json, text/event-stream\r\n"
            "Accept-Encoding: identity\r\n"
            f"{typed if verb == 'POST' else ''}{session}{own}{self._common}\r\n"
        ).encode("latin-1")

    def _answer(self, answer: Answer) -> None:
        """Send what the server is owed, on a connection of its own; too much at once is not."""
        if len(self._answering) >= MOST_ANSWERS:
            return self._recorder.count("unanswered_requests")
        self._answering.add(task := asyncio.ensure_future(self._send_answer(answer)))
        task.add_done_callback(self._answering.discard)

    async def _send_answer(self, answer: Answer) -> None:
        if answer.think_s:
            await anyio.sleep(answer.think_s)
        out = Outgoing(method="", body=answer.body, headers=self._last_headers)
        post = Post(self._talk, out, self._answer)
        if await self._start(post, DRAIN_LIMIT_S) is not None:
            self._talk.answered(answer, post.waiting.sent_ns)
            await self._talk.outcome(post.waiting, DRAIN_LIMIT_S)


class Post:
    """One POST and its response: finds the reply in it, or says why there is none."""

    def __init__(
        self, talk: Conversation, out: Outgoing, send_answer: Callable[[Answer], None]
    ) -> None:
        self.waiting = talk.expect(out)
        self.status = 0
        self.session: bytes | None = None
        self.server_timing: bytes | None = None
        self.opened_ns: tuple[int, int] | None = None
        self.form: str | None = None
        self._talk = talk
        self._send_answer = send_answer
        self._events: SseReader | None = None
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._encoding = b"identity"
        self._first_byte_ns = 0

    def head(self, status: int, headers: dict[bytes, bytes], at_ns: int) -> None:
        """Note status, session and the form of the reply."""
        self.status = status
        self.session = headers.get(SESSION)
        self.server_timing = headers.get(SERVER_TIMING)
        self._encoding = headers.get(b"content-encoding", b"identity")
        self._first_byte_ns = self.waiting.first_byte_ns = at_ns
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        self.form = FORMS.get(kind)
        if self.form == "sse":
            self._events = SseReader(limit_bytes=self._talk.limit_bytes)

    def data(self, chunk: bytes, at_ns: int) -> None:
        """Take a piece of the body; an event is a message as soon as it is whole."""
        if self._events is not None:
            for event in self._events.each(chunk):
                self._message(event, at_ns)
            return
        self._held_bytes += len(chunk)
        if self._held_bytes > self._talk.limit_bytes:
            raise MessageTooLong(self._talk.limit_bytes)
        self._parts.append(chunk)

    def complete(self, at_ns: int) -> None:
        """The response is whole: a request without its reply by now gets none."""
        body = b"".join(self._parts)
        if self.waiting.out.id is None:
            return self._accepted(body, at_ns)
        if self.form == "json" and body:
            self._message(body, at_ns)
        if not self.waiting.future.done():
            self._refused(body)

    def broken(self, why: str) -> None:
        """No reply will come."""
        self._talk.lost_one(self.waiting, why, http_status=self.status or None)

    def _refused(self, body: bytes) -> None:
        """A JSON-RPC error without an id is still the answer to what this POST carried."""
        envelope = jsonrpc.read(body)
        code = envelope.error_code if envelope is not None else None
        self._talk.lost_one(
            self.waiting,
            self._no_reply(body),
            outcome="transport_error" if code is None else "protocol_error",
            error_code=code,
            http_status=self.status,
        )
        if code is not None:
            self.waiting.future.result().body = body

    def _message(self, body: bytes, at_ns: int) -> None:
        for message in jsonrpc.messages(body):
            answer = self._talk.incoming(
                message, at_ns, first_byte_ns=self._first_byte_ns, http_status=self.status
            )
            if answer is not None:
                self._send_answer(answer)

    def _accepted(self, body: bytes, at_ns: int) -> None:
        if self.waiting.future.done():
            return
        ok = 200 <= self.status < 300
        self.waiting.future.set_result(
            Reply(
                outcome="ok" if ok else "transport_error",
                sent_ns=self.waiting.sent_ns,
                written_ns=self.waiting.written_ns,
                first_byte_ns=self._first_byte_ns,
                received_ns=at_ns,
                http_status=self.status,
                why="" if ok else self._no_reply(body),
            )
        )

    def _no_reply(self, body: bytes) -> str:
        if self._encoding != b"identity":
            return f"unexpected_content_encoding: {self._encoding.decode('latin-1')}, not identity"
        excerpt = body[:EXCERPT_BYTES].decode("utf-8", "replace").strip()
        return f"HTTP {self.status} without a reply{f': {excerpt}' if excerpt else ''}"

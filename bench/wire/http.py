"""The Streamable HTTP wire: one POST a message, replies as JSON or event stream."""

from __future__ import annotations

import asyncio

import anyio

from bench import redact
from bench.errors import SetupError, UsageError
from bench.model import Endpoint, Headers, Outgoing, Reply
from bench.recorder import Recorder
from bench.wire.connection import Connection, reason
from bench.wire.conversation import Answer, Conversation
from bench.wire.post import Post
from bench.wire.way import Way

DRAIN_LIMIT_S = 1.0
MOST_ANSWERS = 64  # under way at once, each on a connection
REDIRECTS = (307, 308)  # those that keep method and body (RFC 9110, 15.4)


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
    return wire


class HttpWire:
    """Keeps connections alive, or makes one anew for each exchange, before its clock starts.

    Mirrors the session id, follows a redirect once and for all, and drains replies off the clock.
    `session_lost`: the server does not know the session any more (404, 2025-11-25).
    """

    closing_cancels = True

    def __init__(self, endpoint: Endpoint, recorder: Recorder) -> None:
        self.way = Way(endpoint)
        self.response_form: str | None = None
        self.closed = False
        self.session_lost = False
        self.conversation = self._talk = Conversation(recorder, limit_bytes=endpoint.limit_bytes)
        self._keep_alive, self._quick_ack = endpoint.keep_alive, endpoint.quick_ack
        self._recorder = recorder
        self._connections: list[Connection] = []
        self._session: str | None = None
        self._last_headers: Headers = ()
        self._answering: set[asyncio.Task[None]] = set()
        if endpoint.proxy is not None:
            recorder.facts["proxy"] = redact.url(endpoint.proxy)

    async def connect(self) -> Connection:
        """Open one more connection to the server."""
        recorder = self._recorder
        connection, made = await self.way.connect(recorder.clock)
        connection.opened_ns = (made.began_ns, made.tls_done_ns or made.connected_ns)
        connection.keep, connection.quick_ack = self._keep_alive, self._quick_ack
        recorder.count("connections_opened")
        recorder.facts["address"] = connection.address
        for point, at_ns in made.points():
            recorder.marks.setdefault(point, at_ns)
        self._connections.append(connection)
        return connection

    async def exchange(self, out: Outgoing, *, limit_s: float) -> Reply:
        """POST a request and wait for its reply; a failure is an outcome, never an exception."""
        post, reply = await self._exchanged(out, limit_s)
        if reply.http_status in REDIRECTS and self._moved(post, reply):
            first, (post, reply) = reply, await self._exchanged(out, limit_s)
            reply.sent_ns, reply.wire_requests = first.sent_ns, 2
            if reply.http_status in REDIRECTS:
                reply.why += "; a second redirect is not followed"
        if out.opens_session and post.session and 200 <= post.status < 300:
            self._session = post.session.decode("latin-1")
            self._recorder.facts["session"] = True
        elif post.status == 404 and self._session is not None and reply.error_code is None:
            self.session_lost = True
            reply.why = f"session_lost: the server does not know the session any more; {reply.why}"
        if post.form is not None:
            self.response_form = post.form
        return reply

    async def _exchanged(self, out: Outgoing, limit_s: float) -> tuple[Post, Reply]:
        post = Post(self._talk, out, self._answer)
        connection = await self._ready(post, limit_s)
        if connection is None:
            return post, await post.waiting.future
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
        if post.retry_after is not None:
            self._recorder.count("put_off")
            self._recorder.facts["retry_after"] = post.retry_after
        return post, reply

    def _moved(self, post: Post, reply: Reply) -> bool:
        """Whether a redirect can be followed: once in the life of the wire."""
        facts = self._recorder.facts
        if not post.location or "redirected" in facts:
            reply.why += "; a second redirect is not followed" if post.location else ""
            return False
        try:
            self.way.moved(post.location)
        except UsageError as error:
            reply.why += f"; it leads nowhere: {error}"
            return False
        facts["redirected"] = redact.url(self.way.url.geturl())
        for one in self._connections:
            one.keep = False  # of the address before, once it is drained
        return True

    def forget_session(self) -> None:
        """Open the next one without the id of a session that is lost."""
        self._session, self.session_lost = None, False
        self._recorder.count("sessions_lost")

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
        session = (("Mcp-Session-Id", self._session),) if self._session else ()
        return self.way.head(verb, len(out.body), (*session, *out.headers))

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

"""One POST and its response: the reply found in it, or in words why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench import jsonrpc, redact
from bench.model import Outgoing, Reply
from bench.wire.connection import SERVER_TIMING
from bench.wire.conversation import Answer, Conversation
from bench.wire.lines import MessageTooLong
from bench.wire.sse import SseReader

EXCERPT_BYTES = 300
SESSION = b"mcp-session-id"
PUT_OFF = (429, 503)
TURNING = (301, 302, 303)  # a POST becomes a GET there (RFC 9110, 15.4)
# What usually helps where a server refuses at the door; what we sent is named, its value is not.
HELP: Mapping[int, str] = {
    400: "; we sent no Origin, and Accept with application/json and text/event-stream",
    401: "; try: -H 'Authorization: Bearer …'",
    403: "; we sent no Origin; try: -H 'Authorization: Bearer …' or -H 'Origin: …'",
    404: "; try: is this the right path?",
    405: "; try: is this the right path? we sent a POST",
    406: "; we sent Accept: application/json, text/event-stream",
    421: "; it does not serve the Host of the URL; try: -H 'Host: …'",
}
FORMS = {b"application/json": "json", b"text/event-stream": "sse"}


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
        self.location = ""
        self.retry_after: str | None = None
        self.form: str | None = None
        self._talk = talk
        self._send_answer = send_answer
        self._events: SseReader | None = None
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._encoding = b"identity"
        self._first_byte_ns = 0
        self._challenge = ""

    def head(self, status: int, headers: dict[bytes, bytes], at_ns: int) -> None:
        """Note status, session and the form of the reply."""
        self.status = status
        self.session = headers.get(SESSION)
        self.server_timing = headers.get(SERVER_TIMING)
        self._encoding = headers.get(b"content-encoding", b"identity")
        if status >= 300:
            self._refusal(status, headers)
        self._first_byte_ns = self.waiting.first_byte_ns = at_ns
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        self.form = FORMS.get(kind)
        if self.form == "sse":
            self._events = SseReader(limit_bytes=self._talk.limit_bytes)

    def _refusal(self, status: int, headers: Mapping[bytes, bytes]) -> None:
        """What a response that is no reply has in its head."""
        self.location = headers.get(b"location", b"").decode("latin-1")
        self._challenge = headers.get(b"www-authenticate", b"").decode("latin-1")
        if status in PUT_OFF:
            self.retry_after = headers.get(b"retry-after", b"").decode("latin-1")

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
        return (
            f"HTTP {self.status} without a reply{f': {excerpt}' if excerpt else ''}"
            f"{self._asked_for()}{HELP.get(self.status, '')}"
        )

    def _asked_for(self) -> str:
        """What the head of a refusal asks for, in the server's words."""
        if self._challenge:
            return f"; it asks for: {self._challenge[:EXCERPT_BYTES]}"
        if self.retry_after is not None:
            return f"; it asks to wait: Retry-After {self.retry_after[:40] or 'without a time'}"
        if self.status in TURNING:
            return (
                f"; redirect_would_change_method: it leads to {redact.url(self.location)}, where a "
                "client would GET instead of POST; try: --url with that address"
            )
        return f"; it leads to {redact.url(self.location)}" if self.location else ""

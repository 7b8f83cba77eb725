"""Keeps the stamps of one launch while it lives; nothing here parses or writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from bench.model import TOOL_CALL, Kind, Message, Phase, Reply, Turn

Clock: TypeAlias = Callable[[], int]
CallRow: TypeAlias = tuple[Any, ...]
MessageRow: TypeAlias = tuple[int, str, Kind, str | None, int | float | str | None, int, int | None]

SYSTEM_CLOCK: Clock = time.perf_counter_ns
BUSY_CLOCK: Clock = time.process_time_ns  # what this process has computed, not what it waited
QUOTED_NOISE_LINES, QUOTED_BYTES = 3, 300
LONGEST_NAME = 1_000
MOST_KEPT_BYTES, MESSAGE_OVERHEAD_BYTES = 256 * 1024 * 1024, 400
FULL = "the transcript is full: messages from here on are counted, their text is not kept"


class Asked(msgspec.Struct, frozen=True):
    """What a call asked, as far as its row tells it; whether a probe can be expected to see it."""

    tool: str
    method: str = TOOL_CALL
    request_bytes: int | None = None
    id: int | None = None
    probed: bool = True


class CallStamps(msgspec.Struct, frozen=True):
    """What pairs a call with what the server says of it: its id, window (ns) and local port."""

    number: int
    id: int
    sent_ns: int
    received_ns: int | None
    local_port: int | None


class Recorder:
    """Rows of messages and calls, and named marks, of one launch.

    All stamps are whole nanoseconds of `clock`. `take` hands over the rows since the last take,
    after a call of those in `unread`, who keep back what they have not read yet.
    With `keep_bodies` the text of every message is kept too, for the transcript.
    """

    def __init__(self, turn: Turn, *, clock: Clock = SYSTEM_CLOCK, keep_bodies: bool) -> None:
        self.turn = turn
        self.clock = clock
        self.keep_bodies = keep_bodies
        self.marks: dict[str, int] = {}
        self.taken_ns = clock()
        self.facts: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self.noise: list[bytes] = []
        self.windows: list[CallStamps] = []
        self.transcript: list[Message] = []
        self.unread: list[Callable[[], None]] = []
        self._kept_bytes = 0
        self._messages: list[MessageRow] = []
        self._calls: list[CallRow] = []

    def mark(self, point: str) -> int:
        """Stamp a point that a launch passes once (`connecting`, `connected`, …)."""
        at_ns = self.marks[point] = self.clock()
        return at_ns

    def count(self, what: str, by: int = 1) -> None:
        """Count an event that has no row of its own (a connection opened, a duplicate reply)."""
        self.counts[what] = self.counts.get(what, 0) + by

    def message(
        self,
        at_ns: int,
        direction: Literal["out", "in"],
        kind: Kind,
        body: bytes,
        *,
        method: str | None = None,
        id: int | float | str | None = None,
        http_status: int | None = None,
    ) -> None:
        """Keep one message; its body only where this launch keeps bodies."""
        if method is not None and len(method) > LONGEST_NAME:
            method = method[:LONGEST_NAME]
        if type(id) is str and len(id) > LONGEST_NAME:
            id = id[:LONGEST_NAME]
        self._messages.append((at_ns, direction, kind, method, id, len(body), http_status))
        if self.keep_bodies and self._has_room(at_ns, len(body)):
            self.transcript.append(
                Message(
                    at_ns=at_ns,
                    direction=direction,
                    kind=kind,
                    bytes=len(body),
                    method=method,
                    id=None if id is None else str(id),
                    http_status=http_status,
                    body=_text(body),
                )
            )

    def _has_room(self, at_ns: int, more_bytes: int) -> bool:
        """Whether the transcript may grow; the first message that may not is told in its place."""
        room = self._kept_bytes <= MOST_KEPT_BYTES
        if not room and not self.counts.get("left_out_of_transcript"):
            said = Message(at_ns=at_ns, direction="in", kind="noise", bytes=0, body=FULL)
            self.transcript.append(said)
        if not room:
            self.count("left_out_of_transcript")
        self._kept_bytes += more_bytes + MESSAGE_OVERHEAD_BYTES
        return room

    def noise_line(self, at_ns: int, line: bytes) -> None:
        """Count a line that is no JSON-RPC message, and quote the first ones."""
        self.message(at_ns, "in", "noise", line)
        self.count("noise_lines")
        if len(self.noise) < QUOTED_NOISE_LINES:
            self.noise.append(line[:QUOTED_BYTES])

    def call(self, reply: Reply, *, index: int, phase: Phase, asked: Asked) -> None:
        """Keep one call; the body of one that was not ok is kept too, where no body is yet."""
        self._calls.append(
            (
                index,
                phase,
                asked.tool,
                reply.outcome,
                reply.error_code,
                None,
                reply.sent_ns,
                reply.written_ns,
                reply.first_byte_ns,
                reply.received_ns,
                reply.decoded_ns,
                asked.request_bytes,
                len(reply.body) if reply.received_ns is not None else None,
                asked.id,
                reply.local_port,
                reply.server_timing,
                reply.wire_requests,
                reply.connecting_ns,
                reply.connected_ns,
                reply.out_ns,
                reply.in_ns,
                reply.think_ns,
                reply.asked_ns,
                reply.progress_ns,
                reply.event_ns,
                reply.cancelled_ns,
            )
        )
        if asked.id is not None and asked.probed and phase != "floor":
            sent_ns, received_ns = reply.out_ns or reply.sent_ns, reply.in_ns or reply.received_ns
            self.windows.append(CallStamps(index, asked.id, sent_ns, received_ns, reply.local_port))
        if reply.outcome != "ok":
            self._keep_failed(reply, asked)

    def _keep_failed(self, reply: Reply, asked: Asked) -> None:
        if not self.keep_bodies:
            self.transcript.append(
                Message(
                    at_ns=reply.received_ns or self.clock(),
                    direction="in",
                    kind="response",
                    bytes=len(reply.body),
                    method=asked.method,
                    http_status=reply.http_status,
                    body=_text(reply.body) or reply.why,
                )
            )

    def take(self) -> tuple[list[MessageRow], list[CallRow]]:
        """The rows since the last take, oldest first; `taken_ns` is when that was."""
        for read in self.unread:
            read()
        self.taken_ns = self.clock()
        self._kept_bytes = 0
        messages, self._messages = self._messages, []
        calls, self._calls = self._calls, []
        return messages, calls


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")

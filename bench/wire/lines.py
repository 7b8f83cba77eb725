"""Newline-delimited messages: any chunking of the bytes gives the same lines; without I/O."""

from __future__ import annotations

from collections.abc import Sequence

from bench.errors import BenchError
from bench.model import Limits

LIMIT_BYTES = Limits().message_bytes
BOM = b"\xef\xbb\xbf"


class MessageTooLong(BenchError):
    """One message is longer than the limit; it is not kept, but those `before` it are whole."""

    def __init__(self, limit_bytes: int, before: Sequence[bytes] = ()) -> None:
        super().__init__(
            f"message_too_long: a message is longer than the limit of {limit_bytes} bytes; "
            "try: a larger --max-message"
        )
        self.before = before


class LineReader:
    """Cuts a byte stream at 0x0A only (MCP basic/transports: one JSON object a line).

    CR before the newline is dropped, a byte order mark at the start too. Cost is linear in the
    bytes: a partial line is kept as parts and joined once.
    """

    def __init__(self, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._started = False

    @property
    def held_bytes(self) -> int:
        """Bytes of the line that is not complete yet."""
        return self._held_bytes

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, in order, without their line ends."""
        if not self._started and (chunk := self._without_mark(chunk)) == b"":
            return []
        *complete, rest = chunk.split(b"\n")
        if complete and self._parts:
            complete[0] = b"".join((*self._parts, complete[0]))
            self._forget()
        lines = [line[:-1] if line.endswith(b"\r") else line for line in complete]
        for place, line in enumerate(lines):
            if len(line) > self._limit_bytes:
                raise MessageTooLong(self._limit_bytes, lines[:place])
        if rest:
            self._hold(rest, lines)
        return lines

    def _without_mark(self, chunk: bytes) -> bytes:
        """A byte order mark may itself arrive in pieces; nothing else begins with 0xEF here."""
        head = b"".join((*self._parts, chunk))
        self._forget()
        if head and len(head) < len(BOM) and BOM.startswith(head):
            self._hold(head, [])
            return b""
        self._started = bool(head)
        return head.removeprefix(BOM)

    def _hold(self, rest: bytes, before: Sequence[bytes]) -> None:
        self._held_bytes += len(rest)
        if self._held_bytes > self._limit_bytes + len(b"\r"):
            self._forget()
            raise MessageTooLong(self._limit_bytes, before)
        self._parts.append(rest)

    def _forget(self) -> None:
        self._parts, self._held_bytes = [], 0

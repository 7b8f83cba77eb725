"""Server-sent events: bytes in any chunking to the data of each event; without I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench.wire.lines import BOM, LIMIT_BYTES, MessageTooLong

_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELD = b"data: "


class SseReader:
    """Reads an event stream (WHATWG HTML, 9.2.6): CRLF, LF or CR; comments and ids are skipped.

    A byte order mark at the start is dropped.

    An event is complete at its blank line, or at a CR that may be the first half of one.
    """

    def __init__(self, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._after_cr = False
        self._started = False

    @property
    def held_bytes(self) -> int:
        """Bytes kept of the event that is not complete yet; each line of data counts one more."""
        return self._partial_bytes + self._data_bytes

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that this chunk completes; events without data are left out."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        events: list[bytes] = []
        start = 0
        for end in _LINE_END.finditer(chunk):
            self._line(chunk[start : end.start()], events)
            start = end.end()
        self._after_cr = chunk.endswith(b"\r")
        if start < len(chunk):
            self._partial.append(chunk[start:])
            self._partial_bytes += len(chunk) - start
            self._check_line(self._partial_bytes, events)
        return events

    def each(self, chunk: bytes) -> Iterator[bytes]:
        """The same one by one; that one is too long is told after those before it."""
        try:
            events: Sequence[bytes] = self.feed(chunk)
        except MessageTooLong as error:
            yield from error.before
            raise
        yield from events

    def _line(self, tail: bytes, events: list[bytes]) -> None:
        line = b"".join((*self._partial, tail)) if self._partial else tail
        self._partial, self._partial_bytes = [], 0
        self._check_line(len(line), events)
        if not self._started:
            self._started = True
            line = line.removeprefix(BOM)
        if not line:
            self._end_event(events)
        elif line.startswith(b"data:"):
            self._keep(line[5:].removeprefix(b" "), events)
        elif line == b"data":
            self._keep(b"", events)

    def _keep(self, data: bytes, events: list[bytes]) -> None:
        self._data.append(data)
        self._data_bytes += len(data) + 1
        self._check(self._data_bytes - 1, events)

    def _end_event(self, events: list[bytes]) -> None:
        data = b"\n".join(self._data)
        self._data, self._data_bytes = [], 0
        if data:
            events.append(data)

    def _check_line(self, line_bytes: int, before: list[bytes]) -> None:
        """A line that is no data counts too: until it has ended, nothing tells it from data."""
        self._check(self._data_bytes + line_bytes - len(_FIELD), before)

    def _check(self, held_bytes: int, before: list[bytes]) -> None:
        """A message may be as long as the limit; the name of its field is not part of it."""
        if held_bytes > self._limit_bytes:
            self._partial, self._partial_bytes = [], 0
            self._data, self._data_bytes = [], 0
            raise MessageTooLong(self._limit_bytes, before)

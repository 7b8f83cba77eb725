"""The stdio wire: one JSON-RPC message a line over two pipes, stamped at the system call."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Sequence

import anyio

from bench import jsonrpc
from bench.model import Endpoint, Outgoing, Reply
from bench.recorder import Recorder
from bench.wire.conversation import Answer, Conversation, Waiting
from bench.wire.lines import LineReader, MessageTooLong

READ_BYTES = 1 << 16
BACKLOG_POLL_S = 0.001
MOST_OWED_BYTES = 1 << 20
UNREAD = "answers_not_read: the server goes on asking, but does not read what it is answered"


async def open(endpoint: Endpoint, recorder: Recorder) -> StdioWire:
    """A wire over the two pipe ends of `endpoint`, which it makes non-blocking and owns."""
    return StdioWire(endpoint, recorder)


class StdioWire:
    """Reads and writes the descriptors itself, so that a stamp stands next to its system call."""

    response_form: str | None = "line"
    closing_cancels = False
    session_lost = False

    def __init__(self, endpoint: Endpoint, recorder: Recorder) -> None:
        assert endpoint.read_fd is not None
        assert endpoint.write_fd is not None
        self._in, self._out = endpoint.read_fd, endpoint.write_fd
        self._clock = recorder.clock
        self._recorder = recorder
        self.conversation = self._talk = Conversation(recorder)
        self._lines = LineReader(limit_bytes=endpoint.limit_bytes)
        self._first_byte_ns: int | None = None
        self._backlog: deque[tuple[memoryview, Waiting | None]] = deque()
        self._owed_bytes = 0
        self._loop = asyncio.get_running_loop()
        self.closed = False
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._loop.add_reader(self._in, self._readable)

    async def exchange(self, out: Outgoing, *, limit_s: float) -> Reply:
        """Send a request and wait for its reply; a failure is an outcome, never an exception."""
        waiting = self._talk.expect(out)
        if self.closed:
            waiting.sent_ns = self._clock()
            self._talk.lost("the connection is closed")
            return await waiting.future
        line = out.body + b"\n"
        with anyio.move_on_after(limit_s):
            waiting.sent_ns = sent_ns = self._clock()
            self._write(line, waiting)
            self._talk.sent(out, sent_ns)
            return await waiting.future
        return self._talk.timed_out(waiting, limit_s)

    async def notify(self, out: Outgoing, *, limit_s: float) -> Reply:
        """Send a notification; done when the pipe has taken the bytes."""
        waiting = self._talk.expect(out)
        waiting.sent_ns = sent_ns = self._clock()
        if not self.closed:
            self._write(out.body + b"\n", waiting)
        self._talk.sent(out, sent_ns)
        with anyio.move_on_after(limit_s):
            await self._drained()
        if waiting.written_ns is None:
            return self._talk.failed(waiting, "transport_error", "the pipe did not take it")
        return Reply("ok", sent_ns, waiting.written_ns, received_ns=waiting.written_ns)

    async def listen(self) -> None:
        """Whatever the server says comes the same way."""

    def forget_session(self) -> None:
        """There is none apart from the connection."""

    async def close(self) -> None:
        """Close our end of the server's input, which asks it to leave; it may still write."""
        self.end_input()

    def end_input(self) -> bool:
        """Close our end of the server's input; what it still writes is read."""
        self._give_up("its input has ended")
        self._close_output()
        return True

    def finish(self) -> None:
        """Stop reading and give the descriptors back; once the server has left."""
        self._close_output()
        if self._in >= 0:
            self._loop.remove_reader(self._in)
            os.close(self._in)
            self._in = -1

    async def _drained(self) -> None:
        """Wait until the pipe has taken everything."""
        while self._backlog:
            await anyio.sleep(BACKLOG_POLL_S)

    def _write(self, line: bytes, waiting: Waiting | None) -> None:
        if self._backlog:
            return self._put_off(memoryview(line), waiting)
        try:
            count = os.write(self._out, line)
        except BlockingIOError:
            count = 0
        except OSError as error:
            return self._give_up(f"writing failed: {error.strerror}")
        if count == len(line):
            if waiting is not None:
                waiting.written_ns = self._clock()
            return
        self._put_off(memoryview(line)[count:], waiting)
        self._loop.add_writer(self._out, self._writable)

    def _put_off(self, rest: memoryview, waiting: Waiting | None) -> None:
        self._backlog.append((rest, waiting))
        self._owed_bytes += len(rest) if waiting is None else 0

    def _writable(self) -> None:
        rest, waiting = self._backlog[0]
        try:
            count = os.write(self._out, rest)
        except BlockingIOError:
            return
        except OSError as error:
            return self._give_up(f"writing failed: {error.strerror}")
        self._owed_bytes -= count if waiting is None else 0
        if count < len(rest):
            self._backlog[0] = (rest[count:], waiting)
            return
        if waiting is not None:
            waiting.written_ns = self._clock()
        self._backlog.popleft()
        if not self._backlog:
            self._loop.remove_writer(self._out)

    def _readable(self) -> None:
        try:
            chunk = os.read(self._in, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            chunk = b""
            self._recorder.facts["read_error"] = error.strerror
        at_ns = self._clock()
        if not chunk:
            return self._ended()
        too_long = ""
        try:
            lines: Sequence[bytes] = self._lines.feed(chunk)
        except MessageTooLong as error:
            lines, too_long = error.before, str(error)
        for line in lines:
            self._line(line, at_ns)
            self._first_byte_ns = None
        if too_long:
            return self._stop_reading(too_long)
        if self._lines.held_bytes and self._first_byte_ns is None:
            self._first_byte_ns = at_ns

    def _line(self, line: bytes, at_ns: int) -> None:
        if not line.strip():
            return self._recorder.count("blank_lines")
        found = jsonrpc.messages(line)
        if len(found) > 1:
            self._recorder.count("batches")
        for message in found:
            answer = self._talk.incoming(message, at_ns, first_byte_ns=self._first_byte_ns)
            if answer is None:
                continue
            if answer.think_s:
                self._loop.call_later(answer.think_s, self._send_answer, answer)
            else:
                self._send_answer(answer)

    def _send_answer(self, answer: Answer) -> None:
        """Send what the server is owed, unless it asks and asks and never reads an answer."""
        if self.closed:
            return
        if self._owed_bytes > MOST_OWED_BYTES:
            return self._give_up(UNREAD)
        sent_ns = self._clock()
        self._write(answer.body + b"\n", None)
        self._talk.answered(answer, sent_ns)

    def _ended(self) -> None:
        held = self._lines.held_bytes
        cut = f" in the middle of a message, after {held} bytes of it" if held else ""
        self._stop_reading(f"the server closed its output{cut}")

    def _stop_reading(self, why: str) -> None:
        self._loop.remove_reader(self._in)
        self._give_up(why)

    def _give_up(self, why: str) -> None:
        """No further exchange is possible; what is open fails with `why`."""
        self.closed = True
        if self._backlog:
            self._loop.remove_writer(self._out)
            self._backlog.clear()
        self._talk.lost(why)

    def _close_output(self) -> None:
        if self._out >= 0:
            os.close(self._out)
            self._out = -1

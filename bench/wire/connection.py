"""One HTTP/1.1 connection: a non-blocking socket and a parser, one exchange at a time."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import Any, Protocol

import httptools

from bench.errors import BenchError
from bench.recorder import Clock
from bench.wire.conversation import Waiting

READ_BYTES = 1 << 18
MOST_HEAD_BYTES = 1 << 19  # head, trailer or chunk extension: the parser keeps what it has of them
SERVER_TIMING = b"server-timing"


class Sink(Protocol):
    """Where one response goes, in the order of its bytes; stamps are those of the read call."""

    waiting: Waiting

    def head(self, status: int, headers: dict[bytes, bytes], at_ns: int) -> None:
        """The status line and all header fields (names in lower case) are in."""

    def data(self, chunk: bytes, at_ns: int) -> None:
        """A piece of the decoded body."""

    def complete(self, at_ns: int) -> None:
        """The last byte of the response is in."""

    def broken(self, why: str) -> None:
        """The response will not be complete."""


class Socket(Protocol):
    """What is needed of a socket that does not block, plain or encrypted."""

    def fileno(self) -> int:
        """The descriptor to watch."""

    def send(self, data: bytes | memoryview) -> int:
        """Write what goes now; BlockingIOError where nothing does."""

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Read what is there; BlockingIOError where nothing is."""

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Set an option of TCP."""

    def getsockopt(self, level: int, option: int) -> int:
        """Read one."""

    def getsockname(self) -> Any:
        """Our address and port."""

    def getpeername(self) -> Any:
        """The other side's."""

    def close(self) -> None:
        """Give it back."""


def reason(error: OSError) -> str:
    """What went wrong, in the system's words; some errors carry an address in their place."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {error.reason or error}"
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


class Connection:
    """Sends a request in one write and feeds the response to a Sink; TCP_NODELAY is on.

    `opened_ns`: when connecting began and was done, until an exchange takes note of it. Without
    `keep` it is closed at the end of its first response; with `quick_ack` what it reads is
    acknowledged at once (Linux forgets that after each read).
    """

    def __init__(self, sock: Socket, clock: Clock) -> None:
        self.local_port: int = sock.getsockname()[1]
        self.address: str = sock.getpeername()[0]
        self.closed = False
        self.keep = True
        self.quick_ack = False
        self.opened_ns: tuple[int, int] | None = None
        self._sock = sock
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._sink: Sink | None = None
        self._idle: asyncio.Future[None] | None = None
        self._rest = memoryview(b"")
        self._unsent = ""
        self._at_ns = 0
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._until_end = False
        self._unasked = False
        self._loose_bytes = 0
        self._loop.add_reader(sock, self._readable)

    @property
    def idle(self) -> bool:
        """Open, and no exchange is under way."""
        return self._sink is None and not self.closed

    @property
    def draining(self) -> bool:
        """Its exchange has its reply, only the end of the response is still to come."""
        return self._sink is not None and self._sink.waiting.future.done()

    def usable(self) -> bool:
        """Idle and still open, by a look at the socket: the loop may not have told us yet.

        Bytes without a request are no response to the next one, so they end it as well.
        """
        if self.idle:
            try:
                self._sock.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return True
            except OSError:
                pass
            self.abort("the server closed the connection")
        return False

    def start(self, request: bytes, sink: Sink) -> None:
        """Send the bytes of one request; the write is stamped on both sides."""
        assert self.idle
        self._sink = sink
        sink.waiting.sent_ns = self._clock()
        try:
            count = self._sock.send(request)
        except BlockingIOError:
            count = 0
        except OSError as error:
            return self._stop_writing(error)
        if count == len(request):
            sink.waiting.written_ns = self._clock()
            return
        self._rest = memoryview(request)[count:]
        self._loop.add_writer(self._sock, self._writable)

    async def drained(self) -> None:
        """Wait until the response under way is complete, or the connection gone."""
        if self._sink is not None:
            self._idle = self._idle or self._loop.create_future()
            await asyncio.shield(self._idle)

    def abort(self, why: str) -> None:
        """Close at once; an exchange under way is broken."""
        if self.closed:
            return
        self.closed = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        sink = self._sink
        self._release()
        if sink is not None:
            sink.broken(why)

    def _writable(self) -> None:
        try:
            count = self._sock.send(self._rest)
        except BlockingIOError:
            return
        except OSError as error:
            return self._stop_writing(error)
        self._rest = self._rest[count:]
        if not self._rest:
            self._loop.remove_writer(self._sock)
            if self._sink is not None:
                self._sink.waiting.written_ns = self._clock()

    def _stop_writing(self, error: OSError) -> None:
        """The server takes no more of the request; its response to that may be on the way."""
        self._unsent = f"writing failed: {reason(error)}"
        self._rest = memoryview(b"")
        self._loop.remove_writer(self._sock)

    def _readable(self) -> None:
        if self.quick_ack:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        try:
            chunk = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            return self.abort(self._unsent or f"the connection was lost: {reason(error)}")
        self._at_ns = self._clock()
        if not chunk:
            return self._ended()
        self._loose_bytes += len(chunk)
        try:
            self._parser.feed_data(chunk)
        except httptools.HttpParserCallbackError as error:
            self.abort(str(error.__context__ or error))
            if not isinstance(error.__context__, BenchError):
                raise
        except httptools.HttpParserError as error:
            self.abort(f"no HTTP response: {error}")
        if self._unasked:
            self.abort("the server sent what nothing had asked for")
        if self._loose_bytes > MOST_HEAD_BYTES:
            self.abort(f"header_too_long: more than {MOST_HEAD_BYTES} bytes without a body")

    def _ended(self) -> None:
        if self._until_end:
            self.on_message_complete()
        lost = "the server closed the connection before its response was complete"
        self.abort(self._unsent or lost)

    def _release(self) -> None:
        self._sink = None
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        self._idle = None

    def on_message_begin(self) -> None:
        """Called by the parser; a second response to one request is none to the next."""
        self._headers = {}
        self._unasked = self._sink is None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        name = name.lower()
        if name == SERVER_TIMING and name in self._headers:
            value = b", ".join((self._headers[name], value))
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Called by the parser; 1xx responses are interim and left out (RFC 9110, 15.2).

        A 202 that names neither length nor type has no content, whatever RFC 9112, 6.3 would
        wait for; where it ends can then not be told, so the connection is not used again.
        """
        self._loose_bytes = 0
        self._status = self._parser.get_status_code()
        sized = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        self._until_end = not sized and self._status not in (204, 304)
        if self._sink is not None and self._status >= 200:
            self._sink.head(self._status, self._headers, self._at_ns)
        if self._until_end and self._status == 202 and b"content-type" not in self._headers:
            self.on_message_complete()

    def on_body(self, chunk: bytes) -> None:
        """Called by the parser."""
        self._loose_bytes = 0
        if self._sink is not None:
            self._sink.data(chunk, self._at_ns)

    def on_message_complete(self) -> None:
        """Called by the parser, or by the end of a body that has no length."""
        self._loose_bytes = 0
        if self._status < 200:
            return
        self._until_end = False
        sink = self._sink
        keep = self._parser.should_keep_alive() and not self._rest and not self._unsent
        self._release()
        if sink is not None:
            sink.complete(self._at_ns)
        if not keep:
            self.abort("the server closed the connection")
        elif not self.keep:
            self.abort("one exchange a connection")

"""A valid event stream with all that one may hold, in one-byte chunks; the path says the line end.

Cases W14: a comment, an event without data, data that is no message, a notification without an
event name, and the reply over two data lines.
"""

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import Handler, serve

ENDS = {"/crlf": b"\r\n", "/lf": b"\n", "/cr": b"\r"}


class Torture(Handler):
    """Every reply is a torture."""

    def posted(self, message: Message) -> None:
        """One body, byte by byte."""
        first, comma, rest = encoded(reply_to(message)).partition(b", ")
        note = encoded({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        lines = (
            b'data: {"type":"heartbeat"}',
            b"",
            b": a comment",
            b"",
            b"id: 1",
            b"retry: 500",
            b"data:",
            b"",
            b"data:" + note,
            b"",
            b"event: message",
            b"data: " + first + comma,
            b"data: " + rest,
            b"",
            b"",
        )
        body = b"\xef\xbb\xbf" + ENDS[self.path].join(lines)
        self.stream(bytes([byte]) for byte in body)


serve(Torture)

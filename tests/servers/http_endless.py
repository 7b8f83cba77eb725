"""The first call's response never gets to its body, or to its end; the path says where it stays."""

import contextlib
from collections.abc import Iterator

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import Handler, serve

MORE = 1 << 14
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
STARTS = {
    "/name": HEAD + b"X-",
    "/value": HEAD + b"X-Long: ",
    "/fields": HEAD,
    "/reason": b"HTTP/1.1 200 ",
    "/trailer": CHUNKED,
    "/extension": CHUNKED + b"5;x=",
}


class Endless(Handler):
    """Calls: the first one is never done."""

    calls = 0

    def posted(self, message: Message) -> None:
        """Write until nobody reads."""
        Endless.calls += message["method"] == "tools/call"
        if message["method"] != "tools/call" or Endless.calls > 1:
            return super().posted(message)
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.write(STARTS[self.path])
            for piece in self.pieces(encoded(reply_to(message))):
                self.write(piece)

    def pieces(self, body: bytes) -> Iterator[bytes]:
        """What comes after the start, without an end."""
        if self.path == "/trailer":
            yield b"%x\r\n%s\r\n0\r\n" % (len(body), body)
        number = 0
        while True:
            number += 1
            fields = self.path in ("/fields", "/trailer")
            yield b"X-%d: %s\r\n" % (number, b"y" * 1_000) if fields else b"x" * MORE


serve(Endless)

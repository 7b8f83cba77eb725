"""Refuses bodies over 64 KiB with 413 before it has read them, and closes (case W5)."""

from tests.servers.trivial_http import Handler, serve

LIMIT = 65_536


class Small(Handler):
    """Looks at the length first."""

    def do_POST(self) -> None:
        """A message, if it is small enough."""
        if int(self.headers["Content-Length"]) > LIMIT:
            self.note(None)
            self.close_connection = True
            return self.respond(413, b"too large", "text/plain", Connection="close")
        super().do_POST()


serve(Small)

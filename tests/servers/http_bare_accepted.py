"""Accepts notifications with a 202 that names no length, and keeps the connection open."""

import json

from tests.servers.trivial import encoded, reply_to
from tests.servers.trivial_http import Handler, serve


class Bare(Handler):
    """No Content-Length where there is no content."""

    def do_POST(self) -> None:
        """One message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(message)
        if "id" in message:
            return self.respond(200, encoded(reply_to(message)))
        self.write(b"HTTP/1.1 202 Accepted\r\n\r\n")


serve(Bare)

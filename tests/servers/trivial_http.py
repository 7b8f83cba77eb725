"""The well-behaved server over Streamable HTTP; `GET /seen` tells what it was sent.

Started with a port, or with 0 for a free one; the port is its first line on standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.servers.trivial import Message, encoded, reply_to

JSON, SSE = "application/json", "text/event-stream"


class Handler(BaseHTTPRequestHandler):
    """One connection. A broken server overrides `posted`, or one of the ways to respond."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    connections = hung_up = 0
    requests: ClassVar[list[dict[str, Any]]] = []
    known = False

    def do_GET(self) -> None:
        """What was seen so far, or a refusal of the stream that a client may ask for."""
        if self.path == "/seen":
            cls = Handler
            seen = {"connections": cls.connections, "hung_up": cls.hung_up}
            return self.respond(200, encoded({**seen, "requests": cls.requests}))
        self.note(None)
        self.respond(405)

    def do_DELETE(self) -> None:
        """The end of a session, where there are sessions."""
        self.note(None)
        self.respond(405)

    def do_POST(self) -> None:
        """One message."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        self.note(message)
        if "id" not in message or "method" not in message:
            return self.respond(202)
        self.posted(message)

    def posted(self, message: Message) -> None:
        """Answer one request."""
        self.respond(200, encoded(reply_to(message)))

    def respond(self, status: int, body: bytes = b"", kind: str = JSON, **more: str) -> None:
        """A whole response of known length; `more` are headers, with _ for -."""
        self.head(status, kind, Content_Length=str(len(body)), **more)
        self.write(body)

    def head(self, status: int, kind: str, **more: str) -> None:
        """Status line and headers."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def stream(self, parts: Iterable[bytes]) -> None:
        """A chunked event stream, each part a chunk."""
        self.head(200, SSE, Transfer_Encoding="chunked")
        for part in parts:
            self.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.write(b"0\r\n\r\n")

    def write(self, data: bytes) -> None:
        """These bytes, now."""
        self.wfile.write(data)
        self.wfile.flush()

    def note(self, message: Message | None) -> None:
        """Keep what came in, for `GET /seen`."""
        Handler.connections += not self.known
        self.known = True
        headers = {name.lower(): value for name, value in self.headers.items()}
        Handler.requests.append({"verb": self.command, "headers": headers, "message": message})

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def event(message: object) -> bytes:
    """A message as one server-sent event."""
    return b"event: message\ndata: " + encoded(message) + b"\n\n"


def serve(handler: type[Handler]) -> None:
    """Serve until killed."""
    ThreadingHTTPServer.daemon_threads = True
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Handler)

"""HTTP as it is outside: the path says what stands before the server. `PORT [CERTIFICATE KEY]`.

`/here` and `/far` redirect to `/mcp`, `/turned` with a 301, `/twice` to `/here`; `/locked` wants a
token, `/closed` refuses, `/named` wants another Host, `/busy` puts calls off, `/forgets` loses its
session after five calls, `/always` after each. With a certificate it speaks TLS.
"""

import socket
import ssl
import sys
from http.server import ThreadingHTTPServer

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import JSON, Handler

HOST, CALLS = "bench.local:8000", 5
CHALLENGE = 'Bearer resource_metadata="https://auth.local/.well-known/oauth-protected-resource"'
REDIRECTS = {
    "/here": (307, "/mcp"),
    "/twice": (308, "/here"),
    "/turned": (301, "/mcp"),
    "/nowhere": (307, "ftp://elsewhere/mcp"),
}


class Outside(Handler):
    """What is in the way first, then the server."""

    sessions = calls = 0
    forgot = False

    def posted(self, message: Message) -> None:
        """Let through what passes."""
        if self.path in REDIRECTS:
            status, where = REDIRECTS[self.path]
            return self.respond(status, b"", JSON, Location=where)
        if self.path == "/far":
            host = f"localhost:{self.connection.getsockname()[1]}"
            return self.respond(307, b"", JSON, Location=f"http://{host}/mcp")
        if self.path == "/locked" and self.headers["Authorization"] != "Bearer t0ken":
            return self.respond(401, b"who are you?", JSON, WWW_Authenticate=CHALLENGE)
        if self.path == "/closed":
            return self.respond(403, b"not you")
        if self.path == "/named" and self.headers["Host"] != HOST:
            return self.respond(421, b"Invalid Host header")
        if self.path == "/busy" and message["method"] == "tools/call":
            return self.respond(429, b"slow down", JSON, Retry_After="30")
        if self.path == "/closing" and message["method"] == "initialize":
            return self.respond(503, b"", JSON, Retry_After="7")
        if self.path in ("/forgets", "/always"):
            return self.in_session(message)
        self.respond(200, encoded(reply_to(message)))

    def in_session(self, message: Message) -> None:
        """A session that is known for so many calls."""
        if message["method"] == "initialize":
            Outside.sessions += 1
            Outside.calls = 0
            own = {"Mcp_Session_Id": f"session-{Outside.sessions}"}
            return self.respond(200, encoded(reply_to(message)), JSON, **own)
        Outside.calls += message["method"] == "tools/call"
        loses = self.path == "/always" or not Outside.forgot
        if loses and Outside.calls > (0 if self.path == "/always" else CALLS):
            Outside.forgot = True
            return self.respond(404, b"Session not found", "text/plain")
        self.respond(200, encoded(reply_to(message)))


def main() -> None:
    """Serve until killed."""
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.allow_reuse_address = True
    address = "::1" if "--ipv6" in sys.argv else "127.0.0.1"
    if address == "::1":
        ThreadingHTTPServer.address_family = socket.AF_INET6
    server = ThreadingHTTPServer((address, int(sys.argv[1])), Outside)
    files = [word for word in sys.argv[2:] if not word.startswith("--")]
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()

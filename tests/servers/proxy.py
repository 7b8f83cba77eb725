"""An HTTP proxy on a port of its own: CONNECT, and plain requests; its log is its standard output.

Each line says what was asked and with which authorization; the first one is its port.
"""

import socket
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"

    def do_CONNECT(self) -> None:
        """A way through, byte for byte."""
        self.tell()
        host, _, port = self.path.rpartition(":")
        if host == "refused.local":
            return self.send_error(403)
        with socket.create_connection((host, int(port))) as server:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            back = threading.Thread(target=pump, args=(server, self.connection), daemon=True)
            back.start()
            pump(self.connection, server)
        self.close_connection = True

    def do_POST(self) -> None:
        """A request with a whole address."""
        self.tell()
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert url.hostname is not None
        onward = HTTPConnection(url.hostname, url.port or 80)
        own = {n: v for n, v in self.headers.items() if not n.lower().startswith("proxy-")}
        onward.request("POST", url.path, body, own)
        reply = onward.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.headers["Content-Type"])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        onward.close()

    def tell(self) -> None:
        """One line of the log."""
        given = self.headers.get("Proxy-Authorization", "-")
        print(f"{self.command} {self.path} {given}", flush=True)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing else."""


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until the end, and pass that on."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


ThreadingHTTPServer.daemon_threads = True
proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
print(proxy.server_address[1], flush=True)
proxy.serve_forever()

# The server has an environment of its own, which the type checker does not see.
# mypy: disable-error-code="import-not-found"
"""The fetch server with a web of its own: one page, from a process that ends with the server."""

import atexit
import os
import signal
import socket
import sys
import threading

PAGE = b"<html><body><h1>Refunds</h1><p>Money comes back in ten days.</p></body></html>\n"


def main() -> None:
    """Serve MCP on stdio; every page is asked of our process, as of a proxy."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        serve_pages(listener)
    sys.argv[1:] = ["--ignore-robots-txt", f"--proxy-url=http://127.0.0.1:{port}"]
    import mcp_server_fetch

    mcp_server_fetch.main()


def serve_pages(listener: socket.socket) -> None:
    """Fork a process that answers on `listener` until this one leaves, however it does."""
    alive, ours = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (0, 1):
            os.dup2(nowhere, pipe)
        threading.Thread(target=leave_at_end_of, args=(alive,), daemon=True).start()
        serve_forever(listener)
    os.close(alive)
    atexit.register(end, child)


def leave_at_end_of(alive: int) -> None:
    """Leave when the last writer of a pipe has."""
    os.read(alive, 1)
    os._exit(0)


def serve_forever(listener: socket.socket) -> None:
    """Answer every GET with the page."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Pages, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.serve_forever()


def end(child: int) -> None:
    """Reap the process with the pages."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()

"""The smallest MCP server, without an SDK: `python nothing.py [PORT]`; what is left is the floor.

It answers every request at once with an empty result, over stdio, or over HTTP on a loopback port.
Both eras are served, since it looks at nothing but the id. Standard library only.
"""

import os
import re
import socket
import sys

ID = re.compile(rb'"id":(\d+)')
RESULT = (
    b'{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":'
    b'{"tools":{}},"resultType":"complete","serverInfo":{"name":"nothing","version":"1"},'
    b'"tools":[{"name":"null","inputSchema":{"type":"object"}}],"content":[],"isError":false}'
)
REPLY = b'{"jsonrpc":"2.0","id":%b,"result":' + RESULT + b"}"


def reply(message: bytes) -> bytes | None:
    """The reply to a request; None for a notification."""
    found = ID.search(message)
    return REPLY % found.group(1) if found else None


def serve_pipes() -> None:
    """One message a line until the end of standard input; the client waits for each reply."""
    held = b""
    while chunk := os.read(0, 1 << 16):
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            answer = reply(line)
            if answer is not None:
                os.write(1, answer + b"\n")


def serve_sockets(port: int) -> None:
    """One connection after the other, each kept alive until the client leaves."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                serve_connection(connection)


def serve_connection(connection: socket.socket) -> None:
    """A request is whole when its blank line and its Content-Length have come."""
    held = b""
    while chunk := connection.recv(1 << 16):
        held += chunk
        head, blank, body = held.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if blank and len(body) >= (int(length.group(1)) if length else 0):
            held = b""
            answer = reply(body)
            status = b"200 OK" if answer else b"202 Accepted"
            fields = b"Content-Type: application/json\r\nContent-Length: %d" % len(answer or b"")
            connection.sendall(b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (status, fields, answer or b""))


if __name__ == "__main__":
    serve_sockets(int(sys.argv[1])) if len(sys.argv) > 1 else serve_pipes()

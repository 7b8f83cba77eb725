"""A server with programmed delays and without an SDK: both eras, over stdio or on a port.

DIALS={"import": ns, "serving": ns, …} sets dials for the life of the server; the tool `turn` sets
those of its own call: {"call": 7, "dials": {"before": ns, "handler": ns, "after": ns, "write": 0}}.
The tool `log` tells when each began and ended, and here the stamps of each call, by our own clock.
A dial spins: a loop may return at once from a short sleep.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter_ns as clock
from typing import Any

from tests.servers.trivial import Message, encoded, is_call, reply_to

TURN = {
    "type": "object",
    "properties": {"call": {"type": "integer"}, "dials": {"type": "object"}},
}
NOTHING = {"type": "object"}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {"turn": TURN, "log": NOTHING, "null": NOTHING}
MORE_BYTES = 1 << 16
Heard = Iterator[tuple[Message, int]]
Say = Callable[[bytes | None], None]


class Dials:
    """Delays by point, and the log: one row (point, call, began, ended) per passing of a point."""

    def __init__(self) -> None:
        self.standing: dict[str, int] = json.loads(os.environ.get("DIALS", "{}"))
        self.log: list[tuple[str, int, int, int]] = []

    def spin(self, point: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Take the time programmed at this point: by the call's arguments, else for good."""
        given = arguments or {}
        dials = given.get("dials") or {}
        wait_ns = dials.get(point, self.standing.get(point, 0))
        began = ended = clock()
        while ended - began < wait_ns:
            ended = clock()
        self.log.append((point, given.get("call", 0), began, ended))

    def work(self, arguments: Mapping[str, Any]) -> str:
        """What the tool `turn` does; `first` is for its first call alone."""
        if "first" in self.standing:
            self.spin("first", arguments)
            del self.standing["first"]
        self.spin("handler", arguments)
        return "turned"

    def stamp(self, point: str, arguments: Mapping[str, Any], at_ns: int | None = None) -> None:
        """Note that a call has come to this point, now or at `at_ns`."""
        now = at_ns or clock()
        self.log.append((point, arguments.get("call", 0), now, now))

    def told(self) -> str:
        """The whole log, as JSON."""
        return json.dumps(self.log)


def serve(dials: Dials, heard: Heard, say: Say) -> None:
    """Answer one connection to its end."""
    for message, read_ns in heard:
        arguments = message.get("params", {}).get("arguments") or {}
        if is_call(message) and message["params"]["name"] == "turn":
            dials.stamp("read", arguments, read_ns)
            dials.spin("before", arguments)
            dials.stamp("entered", arguments)
            text = dials.work(arguments)
            dials.stamp("left", arguments)
            dials.spin("after", arguments)
            body = encoded(_result(message, text))
            dials.spin("write", arguments)
            dials.stamp("writing", arguments)
            say(body)
        else:
            reply = _other(message, dials)
            say(None if reply is None else encoded(reply))


def _other(message: Message, dials: Dials) -> Message | None:
    if is_call(message):
        return _result(message, dials.told() if message["params"]["name"] == "log" else "")
    reply = reply_to(message)
    if reply is not None and message["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]
        reply["result"]["tools"] = tools
    return reply


def _result(message: Message, text: str) -> Message:
    content = [{"type": "text", "text": text}]
    result = {"resultType": "complete", "content": content, "isError": False}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def lines() -> Heard:
    """Messages on standard input, each with the end of the read call that completed it."""
    rest = b""
    while chunk := os.read(0, MORE_BYTES):
        read_ns = clock()
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield json.loads(line), read_ns


def write_line(body: bytes | None) -> None:
    """A message as one line on standard output; nothing for none."""
    line = b"" if body is None else body + b"\n"
    while line:
        line = line[os.write(1, line) :]


def posts(connection: socket.socket) -> Heard:
    """Bodies of POST requests on one connection, as `lines` gives them."""
    rest = b""
    while chunk := connection.recv(MORE_BYTES):
        read_ns = clock()
        rest += chunk
        head, blank, body = rest.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if blank and len(body) >= size:
            rest = body[size:]
            yield json.loads(body[:size]), read_ns


def responder(connection: socket.socket) -> Say:
    """Sends a message as a whole JSON response in one piece; for none, 202."""

    def respond(body: bytes | None) -> None:
        status = b"202 Accepted" if body is None else b"200 OK"
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % (status, len(body or b"")) + (body or b""))

    return respond


def main() -> None:
    """Serve standard input, or the port that is the first argument, one connection at a time."""
    dials = Dials()
    dials.spin("import")
    if len(sys.argv) == 1:
        dials.spin("serving")
        return serve(dials, lines(), write_line)
    dials.spin("serving")
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as door:
        while True:
            with door.accept()[0] as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                serve(dials, posts(connection), responder(connection))


if __name__ == "__main__":
    main()

"""A raw MCP client for these tests: bytes over pipes or http.client, stamped on both sides."""

import http.client
import json
import os
import re
import select
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Protocol

import numpy as np

from bench.probe import Calls

LIMIT_S = 60.0
STATEFUL, STATELESS = "2025-11-25", "2026-07-28"
Json = dict[str, Any]


@dataclass(frozen=True)
class Exchange:
    """One request and its reply, with the client's stamps."""

    id: int
    method: str
    sent_ns: int
    received_ns: int
    port: int
    reply: Json

    @property
    def text(self) -> str:
        """The text of a tool's first content block."""
        return str(self.reply["result"]["content"][0]["text"])


class Client(Protocol):
    """What both wires offer."""

    process: subprocess.Popen[bytes]
    wire: bytearray

    def requests(self, bodies: Sequence[Json]) -> list[Exchange]: ...
    def notify(self, method: str) -> None: ...
    def close(self) -> tuple[int, bytes]: ...


def columns(exchanges: Sequence[Exchange]) -> Calls:
    """The exchanges as `join` wants them."""
    return Calls(
        id=np.array([exchange.id for exchange in exchanges], np.int64),
        sent_ns=np.array([exchange.sent_ns for exchange in exchanges], np.int64),
        received_ns=np.array([exchange.received_ns for exchange in exchanges], np.int64),
        port=np.array([exchange.port for exchange in exchanges], np.int64),
    )


class Session:
    """One connection in one era: dresses requests, counts ids."""

    def __init__(self, client: Client, era: str) -> None:
        self.client, self.era, self.ids = client, era, count(1)

    def open(self) -> list[Exchange]:
        """Say what the era wants said first, then list the tools."""
        if self.era == STATELESS:
            return self.ask("server/discover", [{}]) + self.ask("tools/list", [{}])
        who: Json = {"protocolVersion": STATEFUL, "capabilities": {}}
        first = self.ask("initialize", [who | {"clientInfo": {"name": "raw", "version": "0"}}])
        self.client.notify("notifications/initialized")
        return first + self.ask("ping", [{}]) + self.ask("tools/list", [{}])

    def ask(self, method: str, params: Sequence[Json]) -> list[Exchange]:
        """Send one request per item of `params`, all at once, and wait for all replies."""
        return self.client.requests([self.body(method, dict(item)) for item in params])

    def call(self, tool: str, arguments: Sequence[Json]) -> list[Exchange]:
        """Call a tool once per item of `arguments`, all at once."""
        return self.ask("tools/call", [{"name": tool, "arguments": item} for item in arguments])

    def body(self, method: str, params: Json) -> Json:
        if self.era == STATELESS:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {
                prefix + "protocolVersion": STATELESS,
                prefix + "clientCapabilities": {},
                prefix + "clientInfo": {"name": "raw", "version": "0"},
            }
        return {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}


class Stdio:
    """Newline-delimited JSON over the child's pipes."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.stderr = cwd / "stderr"
        with self.stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self.wire = bytearray()
        self.rest = b""

    def requests(self, bodies: Sequence[Json]) -> list[Exchange]:
        sent: dict[int, int] = {}
        methods: dict[int, str] = {}
        for body in bodies:
            sent[body["id"]], methods[body["id"]] = self.send(body), body["method"]
        done: dict[int, Exchange] = {}
        while len(done) < len(bodies):
            received, reply = self.read()
            key = reply.get("id")
            if key in sent and "method" not in reply:
                done[key] = Exchange(key, methods[key], sent[key], received, 0, reply)
        return [done[body["id"]] for body in bodies]

    def send(self, body: Json) -> int:
        assert self.process.stdin is not None
        line = json.dumps(body).encode() + b"\n"
        now = perf_counter_ns()
        os.write(self.process.stdin.fileno(), line)
        return now

    def read(self) -> tuple[int, Json]:
        """The next message and when the read call that completed it returned."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        now = perf_counter_ns()
        while b"\n" not in self.rest:
            ready, _, _ = select.select([descriptor], [], [], LIMIT_S)
            assert ready, f"silent for {LIMIT_S} s: {self.stderr.read_text()[-2000:]}"
            piece = os.read(descriptor, 1 << 16)
            now = perf_counter_ns()
            assert piece, f"the server closed its output: {self.stderr.read_text()[-2000:]}"
            self.rest += piece
            self.wire += piece
        line, self.rest = self.rest.split(b"\n", 1)
        message: Json = json.loads(line)
        return now, message

    def notify(self, method: str) -> None:
        self.send({"jsonrpc": "2.0", "method": method})

    def close(self) -> tuple[int, bytes]:
        """Close the input, wait for the end: exit code and stderr."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            code = self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        return code, self.stderr.read_bytes()


class Http:
    """JSON over HTTP/1.1: one connection per request in flight, kept alive, replies of both forms.

    The server is expected to print an address with the port it was given by the system.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        with (cwd / "stdout").open("wb") as stdout:
            self.process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
            )
        self.wire = bytearray()
        self.lines: list[bytes] = []
        self.address = threading.Event()
        self.drain = threading.Thread(target=self._drain, daemon=True)
        self.drain.start()
        assert self.address.wait(LIMIT_S), b"".join(self.lines)
        assert self.port, b"".join(self.lines)
        self.connections: list[http.client.HTTPConnection] = []
        self.session = ""

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.port = 0
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(rb"http://[^ ]*:(\d+)", line)
            if found and not self.port:
                self.port = int(found[1])
                self.address.set()
        self.address.set()

    def requests(self, bodies: Sequence[Json]) -> list[Exchange]:
        while len(self.connections) < len(bodies):
            self.connections.append(self._connect())
        if len(bodies) == 1:
            return [self._request(self.connections[0], bodies[0])]
        done: list[Exchange | None] = [None] * len(bodies)

        def one(index: int) -> None:
            done[index] = self._request(self.connections[index], bodies[index])

        threads = [threading.Thread(target=one, args=(index,)) for index in range(len(bodies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        replies = [exchange for exchange in done if exchange is not None]
        assert len(replies) == len(bodies)
        return replies

    def _connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.connect()
        return connection

    def _request(self, connection: http.client.HTTPConnection, body: Json) -> Exchange:
        if connection.sock is None:
            connection.connect()
        port = connection.sock.getsockname()[1]
        sent, received, raw = self._post(connection, body)
        if raw.lstrip().startswith(b"{"):
            reply = json.loads(raw)
        else:
            data = [line[5:] for line in raw.splitlines() if line.startswith(b"data:")]
            messages = [json.loads(item) for item in data if item.strip()]
            reply = next(message for message in messages if message.get("id") == body["id"])
        return Exchange(body["id"], body["method"], sent, received, port, reply)

    def _post(self, connection: http.client.HTTPConnection, body: Json) -> tuple[int, int, bytes]:
        text = json.dumps(body).encode()
        headers = self._headers(body)
        sent = perf_counter_ns()
        connection.request("POST", "/mcp", text, headers)
        response = connection.getresponse()
        raw = response.read()
        received = perf_counter_ns()
        assert response.status in {200, 202}, (response.status, raw)
        self.session = response.headers.get("mcp-session-id") or self.session
        self.wire += raw
        return sent, received, raw

    def _headers(self, body: Json) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        params = body.get("params", {})
        if "_meta" in params:
            headers |= {"MCP-Protocol-Version": STATELESS, "Mcp-Method": body["method"]}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        elif body["method"] != "initialize":
            headers["MCP-Protocol-Version"] = STATEFUL
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        return headers

    def notify(self, method: str) -> None:
        self._post(self.connections[0], {"jsonrpc": "2.0", "method": method})

    def close(self) -> tuple[int, bytes]:
        """Close the connections, interrupt the server, wait for its end: exit code and stderr."""
        for connection in self.connections:
            connection.close()
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
        self.drain.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code, b"".join(self.lines)

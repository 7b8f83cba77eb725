"""The way to an HTTP server: its address, through a proxy or not, encrypted or not."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Container, Iterator
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from bench import redact
from bench.errors import UsageError
from bench.model import Endpoint, Headers
from bench.recorder import Clock
from bench.wire import tls
from bench.wire.connection import Connection

PORTS = {"http": 80, "https": 443}
HEAD_LIMIT_BYTES = 1 << 14
OF_ONE_ORIGIN = ("authorization", "cookie", "host")


class Stamps(NamedTuple):
    """When a connection came to be, ns: begun, its name resolved, connected, secured if it is."""

    began_ns: int
    resolved_ns: int
    connected_ns: int
    tls_done_ns: int | None

    def points(self) -> Iterator[tuple[str, int]]:
        """The marks of a launch's first connection, but for its beginning."""
        yield "resolved", self.resolved_ns
        yield "connected", self.connected_ns
        if self.tls_done_ns is not None:
            yield "tls_done", self.tls_done_ns


class Way:
    """Where requests go, and how they get there; a redirect changes it."""

    def __init__(self, endpoint: Endpoint) -> None:
        assert endpoint.url is not None
        self.headers: Headers = endpoint.headers
        self._proxy = None if endpoint.proxy is None else _split(endpoint.proxy, ("http",))
        self._ca = endpoint.ca
        self._trusted: ssl.SSLContext | None = None
        self._go(_split(endpoint.url, PORTS))

    def moved(self, location: str) -> None:
        """Go on at the address a redirect names; what is secret stays with its own origin."""
        before = self.url
        self._go(_split(urljoin(before.geturl(), location), PORTS))
        if (before.scheme, before.netloc) != (self.url.scheme, self.url.netloc):
            self.headers = tuple(
                (name, value) for name, value in self.headers if name.lower() not in OF_ONE_ORIGIN
            )

    async def connect(self, clock: Clock) -> tuple[Connection, Stamps]:
        """Connect to the first address that answers; raises OSError where none does."""
        began_ns = clock()
        first = self._proxy or self.url
        assert first.hostname is not None
        sock, resolved_ns = await _connected(first.hostname, first.port or PORTS["http"], clock)
        connected_ns = clock()
        tls_done_ns = None
        if self._trusted is None:
            connection = Connection(sock, clock)
        else:
            if self._proxy is not None:
                await _tunnel(sock, self.url, _authorization(self._proxy))
            assert self.url.hostname is not None
            connection = Connection(
                await tls.secured(sock, self.url.hostname, self._trusted), clock
            )
            tls_done_ns = clock()
        return connection, Stamps(began_ns, resolved_ns, connected_ns, tls_done_ns)

    def head(self, verb: str, body_bytes: int, more: Headers) -> bytes:
        """The head of one request; headers of the user's own take the place of ours."""
        own = {name.lower() for name, _ in self.headers}
        lines = [f"{verb} {self._target} HTTP/1.1"]
        if "host" not in own:
            lines.append(f"Host: {self.url.netloc.rpartition('@')[2]}")
        lines.append("Accept: application/json, text/event-stream")
        lines.append("Accept-Encoding: identity")
        if verb == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {body_bytes}"]
        lines += [f"{name}: {value}" for name, value in (*more, *self.headers)]
        lines += [f"Proxy-Authorization: {self._basic}"] if self._basic else []
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _go(self, url: SplitResult) -> None:
        self.url = url
        if url.port is None:
            self.url = url._replace(netloc=f"{url.netloc}:{PORTS[url.scheme]}")
        path = url.path or "/"
        self._target = f"{path}?{url.query}" if url.query else path
        self._basic = ""
        if url.scheme == "https":
            self._trusted = self._trusted or tls.context(self._ca)
        else:
            self._trusted = None
            if self._proxy is not None:
                self._target = f"http://{url.netloc.rpartition('@')[2]}{self._target}"
                self._basic = _authorization(self._proxy)


async def _connected(host: str, port: int, clock: Clock) -> tuple[socket.socket, int]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    resolved_ns = clock()
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
            continue
        except asyncio.CancelledError:
            sock.close()
            raise
        return sock, resolved_ns
    raise failure


async def _tunnel(sock: socket.socket, url: SplitResult, authorization: str) -> None:
    """Ask a proxy for a way through (RFC 9110, 9.3.6); raises OSError where it gives none."""
    loop = asyncio.get_running_loop()
    own = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
    where = url.netloc.rpartition("@")[2]
    try:
        request = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{own}\r\n"
        await loop.sock_sendall(sock, request.encode("latin-1"))
        head = b""
        while b"\r\n\r\n" not in head and len(head) < HEAD_LIMIT_BYTES:
            # One byte a time: what follows the head belongs to the handshake.
            byte = await loop.sock_recv(sock, 1)
            if not byte:
                break
            head += byte
        status = head.partition(b"\r\n")[0].decode("latin-1")
        if status.split()[1:2] != ["200"]:
            raise OSError(f"the proxy gave no way through: {status or 'it closed the connection'}")
    except BaseException:
        sock.close()
        raise


def _authorization(proxy: SplitResult) -> str:
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _split(url: str, schemes: Container[str]) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f'"{redact.url(url)}" is no address: {error}') from error
    if parts.scheme not in schemes or not parts.hostname:
        raise UsageError(f'"{redact.url(url)}" is no address like http://127.0.0.1:8000/mcp')
    return parts

"""What crosses the official SDK's wire, kept as it passes: stamps and bytes, none of it read yet.

Loaded only with that client: it needs the SDK. `heard` reads it, once a call has returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, TypeAlias

import httpx2
from mcp_types import JSONRPCMessage, JSONRPCRequest

from bench.recorder import Clock
from bench.wire.sse import SseReader


class Source(NamedTuple):
    """The HTTP response that a message came in."""

    status: int
    local_port: int | None
    server_timing: bytes | None


class Exchange:
    """One HTTP request: the connection that was made for it, if any, and what answers it.

    `whole_ns`: when the last of `parts` came. Only `heard` reads and fills these.
    """

    def __init__(self, request: httpx2.Request) -> None:
        self.request = request
        self.connecting_ns: int | None = None
        self.connected_ns: int | None = None
        self.source: Source | None = None
        self.form: str | None = None
        self.events: SseReader | None = None
        self.parts: list[bytes] = []
        self.whole_ns = 0


class Ask:
    """One thing asked of the SDK's client by `make`, and what of it was seen on the wire.

    `method`: the request that is the thing itself; others that it causes are only counted.
    """

    def __init__(self, method: str, make: Callable[[], Awaitable[object]]) -> None:
        self.method = method
        self.make = make
        self.body = b""
        self.reply = b""
        self.id: int | None = None
        self.requests = 0
        self.connecting_ns: int | None = None
        self.connected_ns: int | None = None
        self.out_ns: int | None = None
        self.in_ns: int | None = None
        self.local_port: int | None = None
        self.server_timing: bytes | None = None


Point: TypeAlias = Literal["claimed", "connecting", "connected", "out", "answered", "in", "end"]
Entry: TypeAlias = tuple[Point, int, Any, Exchange | None]
UNDER_WAY: ContextVar[Ask | None] = ContextVar("under_way", default=None)


class Tap:
    """Keeps what passes in one launch, in its order, until it is taken.

    An entry is a point, its stamp in ns, what was there, and the HTTP exchange that it is part of.
    All this is done in the SDK's own time, so an entry is one tuple, appended.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.traceparent: Callable[[int], str] | None = None
        self._entries: list[Entry] = []
        self.keep = self._entries.append

    def claim(self, message: JSONRPCMessage) -> None:
        """Keep whose message this is: the SDK hands it over in the context of what causes it."""
        ask = UNDER_WAY.get()
        if ask is None:
            return
        self.keep(("claimed", 0, (message, ask), None))
        if self.traceparent is not None and isinstance(message, JSONRPCRequest):
            self._parent(message, ask, self.traceparent)

    def take(self) -> list[Entry]:
        """What has passed since the last take, oldest first."""
        taken = self._entries.copy()
        self._entries.clear()
        return taken

    def _parent(self, request: JSONRPCRequest, ask: Ask, traceparent: Callable[[int], str]) -> None:
        if request.method != ask.method or request.params is None:
            return
        if isinstance(request.id, int):
            request.params.setdefault("_meta", {})["traceparent"] = traceparent(request.id)

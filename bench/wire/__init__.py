"""How bytes reach a server: one file a transport, all stamping the same points."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from bench.model import Endpoint, Outgoing, Reply
from bench.recorder import Recorder
from bench.wire import http, memory, stdio
from bench.wire.conversation import Conversation


class Wire(Protocol):
    """One connection to a server, for one launch.

    `response_form` is how replies came: `line`, `json` or `sse`; None before the first.
    `closed`: no further exchange can succeed. `closing_cancels`: an exchange given up closes its
    response stream. `session_lost`: the server has forgotten the session. `conversation` has the
    script and the events of the launch.
    """

    response_form: str | None
    closed: bool
    closing_cancels: bool
    session_lost: bool
    conversation: Conversation

    async def exchange(self, out: Outgoing, *, limit_s: float) -> Reply:
        """Send a request, wait for its reply; a failure is an outcome of the Reply."""

    async def notify(self, out: Outgoing, *, limit_s: float) -> Reply:
        """Send a notification; its Reply says whether the transport took it."""

    async def listen(self) -> None:
        """Open a stream for what the server says unasked, where the transport needs one."""

    def forget_session(self) -> None:
        """Go on without the session that was lost."""

    async def close(self) -> None:
        """Say goodbye as the transport does; the server may still be leaving afterwards."""

    def end_input(self) -> bool:
        """Let the server see the end of its input, where it has one; whether it has."""

    def finish(self) -> None:
        """Give back what is held, once the server has left."""


WIRES: Mapping[str, Callable[[Endpoint, Recorder], Awaitable[Wire]]] = {
    "stdio": stdio.open,
    "http": http.open,
    "memory": memory.open,
}

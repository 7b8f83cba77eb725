"""What each step and each error of a session usually means: the tables that a trace explains by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Step(NamedTuple):
    """What it means when a session ends with this message: what was due, and the usual cause."""

    due: str
    usually: str


STEPS: Mapping[tuple[str, str, str], Step] = {
    ("out", "request", "initialize"): Step(
        "the response to initialize",
        "the server is still starting, has died, writes its answer to a buffer it does not "
        "flush, or waits for something of its own; look at its standard error",
    ),
    ("in", "response", "initialize"): Step(
        "notifications/initialized from the client",
        "the client read the version the server offered and declined it",
    ),
    ("out", "notification", "notifications/initialized"): Step(
        "tools/list from the client",
        "the client had no reason to go on, or the server announces no tools",
    ),
    ("out", "request", "server/discover"): Step(
        "the response to server/discover",
        "the server is still starting, has died, or is of the handshake era and keeps silent",
    ),
    ("in", "response", "server/discover"): Step(
        "tools/list or a call from the client",
        "the server does not offer the version the client wants",
    ),
    ("out", "request", "tools/list"): Step(
        "the response to tools/list",
        "the server builds its list from something slow, or never saw notifications/initialized",
    ),
    ("in", "response", "tools/list"): Step(
        "tools/call from the client", "the client found no tool it could call"
    ),
    ("out", "request", "tools/call"): Step(
        "the response to tools/call",
        "the tool is still at work, waits for an answer from the client, or its server died",
    ),
    ("out", "request", "subscriptions/listen"): Step(
        "notifications, for as long as the client listens",
        "the client still listens; the response ends a subscription",
    ),
    ("out", "notification", "notifications/cancelled"): Step(
        "nothing: a server should not answer what was cancelled",
        "the client gave up, because its limit ran out or its user left",
    ),
}
# Where a session may end: what the client wanted has come.
COMPLETE = ("in", "response", "tools/call")

ERRORS: Mapping[int, str] = {
    -32700: "the server could not read the message as JSON",
    -32600: "it was no request at this point: too early, of another era, or of a session that is "
    "gone",
    -32601: "the server does not have this method",
    -32602: "the parameters do not fit: often a tool of that name is not there, or an argument is "
    "missing",
    -32603: "something broke inside the server; what a model could act on belongs in a result with "
    "isError",
    -32020: "a header does not say what the body says",
    -32021: "the client did not declare a capability that this needs; declare it under "
    "[capabilities]",
    -32022: "the server does not speak this protocol version",
    -32002: "there is no such resource",
    -32042: "the user must first visit an address (URL elicitation)",
    -32000: "the transport of the TypeScript SDK refused it",
    -32001: "the TypeScript SDK does not know this session",
    -32800: "the request was cancelled",
    0: "the handler raised an exception, and the SDK gave it no code of its own",
}


def of_error(code: object) -> str:
    """What an error code usually means, for the codes that are known."""
    known = ERRORS.get(code) if isinstance(code, int) else None
    return known or "a code of the server's own"

"""A launch message by message, as people know it, and what its last message says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bench.model import Message
from bench.report.figures import harmless, milliseconds, shown

ARROWS = {"out": "->", "in": "<-"}
CUT_LETTERS = 160


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
}
COMPLETE = ("in", "response", "tools/call")


def render(messages: Sequence[Message], *, full: bool = False, error: str | None = None) -> str:
    """The messages with stamp, delta and size, then what the last of them says."""
    lines = [*_lines(messages, full), ""]
    lines += [f"{each}" for each in _findings(messages)]
    if error:
        lines.append(f"It ended with: {shown(error)}")
    return "\n".join(lines) + "\n"


def document(messages: Sequence[Message], error: str | None) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "messages": [msgspec.to_builtins(message) for message in messages],
        "findings": list(_findings(messages)),
        "error": error,
    }


def unanswered(messages: Sequence[Message]) -> list[Message]:
    """Requests, of either side, that no response with their id followed."""
    opposite = {"out": "in", "in": "out"}
    answered = {(opposite[m.direction], m.id) for m in messages if m.kind == "response"}
    return [m for m in messages if m.kind == "request" and (m.direction, m.id) not in answered]


def methods(messages: Sequence[Message]) -> list[str]:
    """The method of each message; a response has that of the request it answers."""
    asked: dict[tuple[str, str | None], str] = {}
    found: list[str] = []
    for message in messages:
        if message.kind == "request":
            asked[(message.direction, message.id)] = message.method or ""
        other = "in" if message.direction == "out" else "out"
        is_response = message.kind == "response"
        method = asked.get((other, message.id), "") if is_response else message.method or ""
        found.append(method)
    return found


def steps(messages: Sequence[Message]) -> list[tuple[Message, str]]:
    """The messages of the client's own steps, with their methods: what parity counts."""
    named = zip(messages, methods(messages), strict=True)
    return [
        (message, method)
        for message, method in named
        if message.kind != "noise"
        and not (message.kind == "notification" and message.direction == "in")
        and not _of_the_server(message)
    ]


def _of_the_server(message: Message) -> bool:
    """A request that the server made, or our answer to it."""
    return (message.kind, message.direction) in {("request", "in"), ("response", "out")}


def _lines(messages: Sequence[Message], full: bool) -> Iterator[str]:
    began_ns = previous_ns = messages[0].at_ns if messages else 0
    for message in messages:
        stamp = f"{(message.at_ns - began_ns) / 1e6:10.3f} ms"
        delta = f"{'+' + milliseconds(message.at_ns - previous_ns):>9}"
        body = message.body if message.body is not None else (message.method or "")
        text = harmless(body) if full else shown(body)
        cut = text if full or len(text) <= CUT_LETTERS else f"{text[: CUT_LETTERS - 1]}…"
        noise = "no message: " if message.kind == "noise" else ""
        status = f" HTTP {message.http_status}" if (message.http_status or 200) >= 300 else ""
        arrow = ARROWS[message.direction]
        yield f"{stamp} {delta} {message.bytes:>7,} B  {arrow}{status} {noise}{cut}"
        previous_ns = message.at_ns


def _findings(messages: Sequence[Message]) -> Iterator[str]:
    counted = steps(messages)
    real = [message for message in messages if message.kind != "noise"]
    yield f"{len(real)} message{'' if len(real) == 1 else 's'}; {_parity(counted)}"
    if not counted:
        yield "Nothing was exchanged: the connection was not up yet when it ended."
        return
    last, method = counted[-1]
    key = (last.direction, last.kind, method)
    if key == COMPLETE:
        yield f"Last step: {_said(key)}. The session is whole: nothing is due."
    elif key in STEPS:
        step = STEPS[key]
        yield f"Last step: {_said(key)}. Due next: {step.due}."
        yield f"Usually: {step.usually}."
    else:
        yield f"Last step: {_said(key)}."
    for message in unanswered(messages):
        who = "the server" if message.direction == "out" else "the client"
        yield f"Unanswered by {who}: {shown(message.method)} (id {shown(message.id)})."


def _said(key: tuple[str, str, str]) -> str:
    direction, kind, method = key
    whose = "the client's" if direction == "out" else "the server's"
    return f"{whose} {kind}{' to' if kind == 'response' else ''} {shown(method)}"


def _parity(counted: Sequence[tuple[Message, str]]) -> str:
    """A handshake session is odd: each request has its response, and `initialized` has none."""
    count = len(counted)
    handshake = any(method == "initialize" for _, method in counted)
    kind = "a handshake session" if handshake else "a session without a handshake"
    parity, due = ("odd" if count % 2 else "even"), ("odd" if handshake else "even")
    if parity != due:
        return f"{count} in its steps, {parity}: {kind} is {due}, so a line is missing"
    if unanswered([message for message, _ in counted]):
        return f"{count} in its steps, with a response still due"
    return f"{count} in its steps, {parity}, as {kind} must be"

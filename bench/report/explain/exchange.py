"""The messages of a launch as an exchange: who asked what, what was answered, what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from bench.model import Message
from bench.report.figures import shown

Key: TypeAlias = tuple[str, str | None]
CANCELLED = "notifications/cancelled"
OPPOSITE: Mapping[str, str] = {"out": "in", "in": "out"}


class Turned(NamedTuple):
    """One message with the method it belongs to; a response has that of its request.

    `answers` is that request, `again` marks a response to what was answered before.
    """

    message: Message
    method: str
    body: Mapping[str, Any]
    answers: Message | None = None
    again: bool = False

    @property
    def is_step(self) -> bool:
        """Whether it is one of the client's own steps, which is what parity counts."""
        kind, direction = self.message.kind, self.message.direction
        if kind == "noise" or self.again:
            return False
        return direction == ("in" if kind == "response" else "out")

    @property
    def key(self) -> tuple[str, str, str]:
        """Direction, kind and method."""
        return self.message.direction, self.message.kind, self.method

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The JSON-RPC error of a response."""
        found = self.body.get("error")
        return found if isinstance(found, dict) else None

    @property
    def result(self) -> Mapping[str, Any]:
        """The result of a response; empty where there is none."""
        return _table(self.body.get("result"))

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of a request."""
        return _table(self.body.get("params"))


def turned(messages: Sequence[Message]) -> list[Turned]:
    """Each message, laid to the request that it answers.

    An error without an id answers the last request that is open: its sender could not read one,
    or leaves it out where the HTTP response says what is meant.
    """
    asked: dict[Key, Message] = {}
    answered: set[Key] = set()
    found: list[Turned] = []
    for message in messages:
        key = (message.direction, message.id)
        if message.kind == "request":
            asked[key] = message
            answered.discard(key)
        if message.kind != "response":
            found.append(Turned(message, shown(message.method or ""), _read(message)))
            continue
        other = (OPPOSITE[message.direction], message.id)
        if message.id is None:
            other = next(
                (k for k in reversed(asked) if k not in answered and k[0] == other[0]), other
            )
        request = asked.get(other)
        method = shown(request.method or "") if request is not None else ""
        found.append(Turned(message, method, _read(message), request, other in answered))
        if request is not None:
            answered.add(other)
    return found


def unanswered(turns: Sequence[Turned]) -> list[Message]:
    """Requests, of either side, that no response followed and that were not given up."""
    gone = cancelled(turns) | _tried(turns)
    return [m for m in _open(turns) if (m.direction, m.id) not in gone]


def cancelled(turns: Sequence[Turned]) -> set[Key]:
    """The requests that whoever sent them has cancelled: no response to them is due any more."""
    told = [turn for turn in turns if turn.method == CANCELLED]
    return {(turn.message.direction, str(turn.params.get("requestId"))) for turn in told}


def given_up(turns: Sequence[Turned]) -> int:
    """How many of the client's requests have no response, and none is due any more."""
    gone = cancelled(turns) | _tried(turns)
    return sum(m.direction == "out" and (m.direction, m.id) in gone for m in _open(turns))


def _tried(turns: Sequence[Turned]) -> set[Key]:
    """The question of one era that a client of both gave up when it began as the other does."""
    tried, opening = (first(turns, "request", name) for name in ("server/discover", "initialize"))
    if tried is None or opening is None or tried.message.at_ns > opening.message.at_ns:
        return set()
    return {(tried.message.direction, tried.message.id)}


def _open(turns: Sequence[Turned]) -> list[Message]:
    answered = {id(turn.answers) for turn in turns if turn.answers is not None}
    requests = [turn.message for turn in turns if turn.message.kind == "request"]
    return [message for message in requests if id(message) not in answered]


def strays(turns: Sequence[Turned]) -> list[Message]:
    """Responses to nothing that was asked, as far as these messages tell."""
    return [t.message for t in turns if t.message.kind == "response" and t.answers is None]


def duplicates(turns: Sequence[Turned]) -> list[Turned]:
    """Responses to what had been answered before."""
    return [turn for turn in turns if turn.again]


def first(turns: Sequence[Turned], kind: str, method: str) -> Turned | None:
    """The first message of this kind and method, of the client's requests and their responses."""
    return next((t for t in turns if t.is_step and t.key[1:] == (kind, method)), None)


def _read(message: Message) -> Mapping[str, Any]:
    if not message.body or message.kind == "noise":
        return {}
    try:
        return _table(json.loads(message.body))
    except ValueError:
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

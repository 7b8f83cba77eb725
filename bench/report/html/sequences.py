"""The messages of a session as the diagram of a page wants them: places, words, what was served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.model import Message
from bench.report.figures import harmless, shown
from bench.sessions import Session
from bench.units import milliseconds
from bench.waits import Shortened

BODY_LETTERS = 600
SERVED = (
    ("dispatch", "read_ns", "entered_ns"),
    ("work", "entered_ns", "left_ns"),
    ("encode", "left_ns", "writing_ns"),
)
ARROWS = {"out": "→", "in": "←"}


class Row(NamedTuple):
    """A message in words."""

    at: str
    since: str
    size: str
    arrow: str
    name: str
    body: str


def rows(session: Session) -> list[Row]:
    """The messages as a table; times since the first and since the one before."""
    messages = session.messages
    began = messages[0].at_ns
    before = [began, *(message.at_ns for message in messages)]
    return [
        Row(
            at=milliseconds(message.at_ns - began),
            since=f"+{milliseconds(message.at_ns - previous)}",
            size=f"{message.bytes:,} B",
            arrow=ARROWS[message.direction],
            name=name,
            body=_cut(message.body),
        )
        for message, previous, name in zip(messages, before, _names(messages), strict=False)
    ]


def diagram(session: Session, name: str) -> dict[str, Any]:
    """Plain data for the diagram: places from 0 to 1, and how many ns an uncut stretch of 1 is.

    The words of each message are in its row of the table.
    """
    messages = session.messages
    at = Shortened(np.array([message.at_ns for message in messages], np.int64))
    whole = float(at.places[-1]) or 1.0
    return {
        "cell": name,
        "launch": session.launch,
        "left_out": session.left_out,
        "scale_ns": whole,
        "cuts": [
            {"place": at.middle(one) / whole, "text": f"≈ {milliseconds(at.wait_ns(one))}"}
            for one in at.cut
        ],
        "messages": [
            {
                "place": float(place) / whole,
                "there": _there(message, session.served, at, whole=whole),
                "out": message.direction == "out",
                "kind": message.kind,
                "name": method,
            }
            for place, message, method in zip(at.places, messages, _names(messages), strict=True)
        ],
        "served": list(_served(session, at, whole)),
    }


def _names(messages: Sequence[Message]) -> Iterator[str]:
    """What each is: a response is named by the request it answers."""
    asked: dict[tuple[str, str | None], str] = {}
    for message in messages:
        method = shown(message.method or "")
        if message.kind == "request":
            asked[(message.direction, message.id)] = method
        other = "in" if message.direction == "out" else "out"
        if message.kind == "response":
            status = f", HTTP {message.http_status}" if (message.http_status or 0) >= 300 else ""
            yield f"response to {asked.get((other, message.id), shown(message.id))}{status}"
        else:
            yield method if message.kind != "noise" else "no message"


def _there(
    message: Message, served: Mapping[str, Mapping[str, int]], at: Shortened, *, whole: float
) -> float:
    """Where the message was at the server: its own stamp where a probe took one, else as ours."""
    stamps = served.get(message.id or "", {})
    point = {"out": "read_ns", "in": "writing_ns"}[message.direction]
    paired = message.kind == ("request" if message.direction == "out" else "response")
    stamp = stamps.get(point, message.at_ns) if paired else message.at_ns
    return at.of(stamp) / whole


def _served(session: Session, at: Shortened, whole: float) -> Iterator[dict[str, Any]]:
    last = session.messages[-1].at_ns
    for stamps in session.served.values():
        if stamps["writing_ns"] > last:
            continue
        for part, start, end in SERVED:
            took = f"{part} {milliseconds(stamps[end] - stamps[start])}"
            places = {"from": at.of(stamps[start]) / whole, "to": at.of(stamps[end]) / whole}
            yield {"part": part, "text": took, **places}


def _cut(body: str | None) -> str:
    text = harmless((body or "")[:BODY_LETTERS])
    return f"{text}…" if len(body or "") > BODY_LETTERS else text

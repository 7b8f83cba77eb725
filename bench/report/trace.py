"""A launch message by message, as people know it, and what its messages say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bench.model import Message
from bench.report.explain import explain
from bench.report.figures import harmless, shown
from bench.tracefile import Traced
from bench.units import milliseconds

ARROWS = {"out": "->", "in": "<-"}
CUT_LETTERS = 160


def render(traced: Traced, *, full: bool = False) -> str:
    """The messages with stamp, delta and size, then what they say."""
    lines = [*_lines(traced.messages, full), ""]
    lines += [each.text for each in explain(traced.messages, traced.facts)]
    if traced.error:
        lines.append(f"It ended with: {shown(traced.error)}")
    return "\n".join(lines) + "\n"


def document(traced: Traced) -> dict[str, Any]:
    """The same as plain data; each of `explained` says in one word what it is about."""
    said = explain(traced.messages, traced.facts)
    return {
        "messages": [msgspec.to_builtins(message) for message in traced.messages],
        "findings": [each.text for each in said],
        "explained": [each._asdict() for each in said],
        "facts": dict(traced.facts),
        "error": traced.error,
    }


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

"""What a server says of its own time in the `Server-Timing` header of a response."""

from __future__ import annotations

import re
from collections.abc import Iterator

PREFERRED = ("handler", "tool", "work", "total", "app")
MOST_MS = 1e11
_METRICS, _PARAMS = (
    re.compile(rf'(?:"(?:[^"\\]|\\.)*"?|[^{separator}"])+') for separator in (",", ";")
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def header_ns(raw: bytes | None) -> int | None:
    """The tool's own time in ns by the raw value of a header, or of several joined by commas.

    `handler;dur=12.3` is 12.3 ms (W3C Server Timing, 3). Of several metrics the first of PREFERRED
    counts; a metric of another name only where it stands alone: several unknown ones can be
    nested in each other or not, so neither their sum nor their largest is the tool's time. A
    negative one is kept, for its reader to refuse.
    """
    durations: dict[str, int] = {}
    for name, took_ns in _metrics((raw or b"").decode("latin-1")):
        durations.setdefault(name, took_ns)
    for name in PREFERRED:
        if name in durations:
            return durations[name]
    return next(iter(durations.values())) if len(durations) == 1 else None


def _metrics(text: str) -> Iterator[tuple[str, int]]:
    """Name and ns of each metric that says a duration."""
    for metric in map(str.strip, _METRICS.findall(text)):
        if not metric or metric.startswith(";"):
            continue
        name, *params = _PARAMS.findall(metric)
        took_ns = _duration_ns(params)
        if took_ns is not None:
            yield name.strip().lower(), took_ns


def _duration_ns(params: list[str]) -> int | None:
    """The first `dur`; those that follow are to be ignored, as is one that is no number."""
    for param in params:
        key, _, value = param.partition("=")
        if key.strip().lower() == "dur":
            number = _NUMBER.match(value.strip().lstrip('"').lstrip())
            took_ms = float(number[0]) if number else MOST_MS
            return round(took_ms * 1e6) if abs(took_ms) < MOST_MS else None
    return None

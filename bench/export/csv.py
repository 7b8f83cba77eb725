"""CSV: one row a reading, whole nanoseconds, units in the header, safe to open as a sheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from bench import seen, segments
from bench.export.chosen import Chosen
from bench.report.figures import harmless
from bench.seen import Seen

HEAD = (
    "cell",
    "server",
    "transport",
    "era",
    "launch",
    "phase",
    "call",
    "tool",
    "outcome",
    "segment",
    "value_ns",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render(chosen: Chosen) -> str:
    """The whole run; a call that failed, or a launch that did, has a row without a value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for cell in chosen.cells:
        writer.writerows([_safe(value) for value in row] for row in _rows(cell))
    return text.getvalue()


def _rows(cell: Seen) -> Iterator[tuple[Any, ...]]:
    asked = cell.asked
    head = tuple(asked[key] for key in ("cell", "server", "transport", "era"))
    for row in (*_setups(cell), *_calls(cell)):
        yield head + row


def _setups(cell: Seen) -> Iterator[tuple[Any, ...]]:
    durations = seen.setups(cell)
    for at, launch in enumerate(cell.launches.select(["launch", "outcome"]).to_pylist()):
        known = (launch["launch"], "setup", None, None, launch["outcome"])
        there = {name: int(v[at]) for name, v in durations.items() if v[at] != segments.MISSING}
        if "setup" not in there:
            yield (*known, "setup", None)
        yield from ((*known, name, value) for name, value in there.items())


def _calls(cell: Seen) -> Iterator[tuple[Any, ...]]:
    durations = seen.timed(cell, cell.calls)
    keys = ("launch", "phase", "call", "tool", "outcome")
    for at, call in enumerate(cell.calls.select(list(keys)).to_pylist()):
        known = tuple(call[key] for key in keys)
        if call["outcome"] != "ok":
            yield (*known, "call", None)
            continue
        for name, values in durations.items():
            if values[at] != segments.MISSING:
                yield (*known, name, int(values[at]))


def _safe(value: Any) -> Any:
    """A text that a sheet would take for a formula is marked as text; numbers are left alone."""
    if not isinstance(value, str):
        return value
    words = harmless(value)
    return f"'{words}" if words.startswith(FORMULA) or value.startswith(FORMULA) else words

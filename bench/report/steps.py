"""What each step of a scenario took by itself, where it asks more than one kind of thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, interval, shown
from bench.units import NONE, milliseconds

BESIDE: Mapping[str, str] = {
    "think": "we thought",
    "served": "the rest",
    "first_progress": "first progress after",
    "event": "told of it after",
    "round": "each request",
    "stopping": "went on for",
}


def step_grids(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Grid]:
    """One table for each cell that asks several things, or one thing that is no plain call."""
    for cell in cells:
        told = {name for step in cell["steps"] for name in step["segments"]}
        if len(cell["steps"]) > 1 or told & BESIDE.keys():
            rows = [_row(step) for step in cell["steps"]]
            head = ("step", "p50", "95 % interval", "calls", "requests", "beside it")
            yield Grid(f"Each step, {names[cell['cell']]}", head, rows, _notes(cell["wire"]))


def _row(step: Mapping[str, Any]) -> tuple[str, ...]:
    found = step["segments"].get("call", {})
    others = {name: n for name, n in step["outcomes"].items() if n and name != "ok"}
    counted = [f"{step['outcomes']['ok']} ok"] if step["outcomes"]["ok"] else []
    counted += [f"{count} {name}" for name, count in others.items()]
    requests = step["requests_per_call"]
    return (
        shown(step["step"]),
        milliseconds(found.get("p50_ns")),
        interval(found.get("low_ns"), found.get("high_ns")),
        ", ".join(counted) or NONE,
        NONE if requests is None else f"{requests:g}",
        ", ".join(_beside(step["segments"])) or NONE,
    )


def _beside(segments: Mapping[str, Any]) -> Iterator[str]:
    for name, words in BESIDE.items():
        if name in segments:
            yield f"{words} {milliseconds(segments[name]['p50_ns'])}"


def _notes(wire: Mapping[str, Any]) -> list[str]:
    """What became of the cancelled calls of a launch, and of events that never came."""
    found = []
    if wire["cancelled"]:
        found.append(
            f"of {wire['cancelled']} cancelled calls a launch {wire['answered_after_cancel']} were "
            f"answered all the same; after {wire['survived_cancel']} the connection lived on"
        )
    if wire["missed_events"]:
        found.append(f"{wire['missed_events']} expected notifications never came")
    return found

"""What each client adds to the same calls: its own time, its requests, its connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid
from bench.units import NONE, milliseconds

PLAIN = {"client": "wire", "connection": "keep-alive"}
HEAD = (
    "",
    "call",
    "more than wire",
    "in the client",
    "connect",
    "requests/call",
    "in the first",
    "connections",
)


def client_grids(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Grid]:
    """One table, where any cell had another client or other connections than is usual."""
    usual = PLAIN.items()
    if all(cell["variant"].get(key, value) == value for cell in cells for key, value in usual):
        return
    by_name = {cell["cell"]: cell for cell in cells}
    rows = [(names[cell["cell"]], *_row(cell, by_name.get(_wired(cell["cell"])))) for cell in cells]
    notes = [
        "more than wire: beside our own bare client in the same place; in the client: before the "
        "request goes out and after its reply is in, but for connecting; connect: our own client "
        "does so before a call, the SDK's in it"
    ]
    yield Grid("What the client adds, and what it really sends", HEAD, rows, notes)


def _row(cell: Mapping[str, Any], wired: Mapping[str, Any] | None) -> tuple[str, ...]:
    own = [_median(cell, name) for name in ("client_out", "client_in")]
    call_ns = _median(cell, "call")
    base_ns = None if wired is None or wired is cell else _median(wired, "call")
    added = None if call_ns is None or base_ns is None else call_ns - base_ns
    wire = cell["wire"]
    return (
        milliseconds(call_ns),
        NONE if added is None else f"{'+' if added > 0 else ''}{milliseconds(added)}",
        milliseconds(sum(one or 0 for one in own) if any(own) else None),
        milliseconds(_median(cell, "call_connect")),
        NONE if wire["requests_per_call"] is None else f"{wire['requests_per_call']:g}",
        str(wire["first_call_requests"] or NONE),
        f"{wire['connections_opened']:,}",
    )


def _wired(name: str) -> str:
    """The name of the cell that differs only in that our own wire makes its calls."""
    parts = ("client=wire" if part.startswith("client=") else part for part in name.split("/"))
    return "/".join(parts)


def _median(cell: Mapping[str, Any], name: str) -> int | None:
    found: int | None = cell["segments"].get(name, {}).get("p50_ns")
    return found

"""What the reference runs show, in tables and sentences, every number from their summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from bench.units import milliseconds
from tests.readme import TOP

REFERENCE = TOP / "results" / "reference"
PAGE = REFERENCE / "README.md"
DESKS = ("tickets-lowlevel", "tickets-python", "tickets-fastmcp", "tickets-ts1", "tickets-ts2")
SDKS: Mapping[str, str] = {
    "tickets-lowlevel": "Python SDK 2, low-level",
    "tickets-python": "Python SDK 2",
    "tickets-fastmcp": "FastMCP 4",
    "tickets-ts1": "TypeScript SDK 1",
    "tickets-ts2": "TypeScript SDK 2",
}
STEPS = ("100 B", "1 kB", "10 kB", "100 kB", "1 MB")
TOOLS = ("1", "10", "100", "1000")
NONE = "·"


@cache
def rows(run: str) -> pd.DataFrame:
    """The summary of a run as it is committed."""
    return pd.read_parquet(REFERENCE / run / "summary.parquet")


def ns(run: str, segment: str, step: str | None = None, **cell: str) -> int | None:
    """The median of a segment of the one cell that is so; None where there is none."""
    found = rows(run)
    found = found[found["segment"] == segment]
    if "step" in found:
        found = found[found["step"].isna() if step is None else found["step"] == step]
    for key, value in cell.items():
        found = found[found[key] == value]
    if len(found) > 1:
        raise ValueError(f"{run}: {segment} of {cell}: {len(found)} cells")
    return (
        int(found["p50_ns"].iloc[0]) if len(found) and pd.notna(found["p50_ns"].iloc[0]) else None
    )


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Rows in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def desks() -> str:
    """One row an SDK: the same tool on the same tickets, each cell's median call, and its setup."""
    forms = (
        {"transport": "stdio", "era": "stateful"},
        {"transport": "stdio", "era": "stateless"},
        {"transport": "http", "era": "stateful", "response": "sse", "session": "kept"},
        {"transport": "http", "era": "stateful", "response": "json", "session": "kept"},
        {"transport": "http", "era": "stateless", "response": "sse"},
        {"transport": "http", "era": "stateless", "response": "json"},
    )
    head = [
        "call, ms",
        *(
            " ".join(form[key] for key in ("transport", "era", "response") if key in form)
            for form in forms
        ),
    ]
    head += ["work, stdio", "setup, stdio"]
    lines = []
    for server in DESKS:
        calls = [_ms(_first("sdks", "call", server=server, **form)) for form in forms]
        stdio = {"server": server, "transport": "stdio", "era": "stateful"}
        lines.append(
            (
                SDKS[server],
                *calls,
                _ms(ns("sdks", "work", **stdio)),
                _ms(ns("sdks", "setup", **stdio)),
            )
        )
    return table(head, lines)


def servers() -> str:
    """One row a cell of the servers that others wrote."""
    found = rows("servers")
    lines = []
    for cell in dict.fromkeys(found["cell"]):
        mine = found[found["cell"] == cell]
        known = {row.segment: row for row in mine.itertuples()}
        call = known["call"]
        lines.append(
            (
                cell.partition("/")[2],
                *(_ms(_p50(known.get(name))) for name in ("setup", "call", "work", "boundary")),
                "·" if pd.isna(call.p99_ns) else milliseconds(int(call.p99_ns)),
                str(call.work_source),
            )
        )
    return table(("cell", "setup", "call", "work", "boundary", "call p99", "known by"), lines)


def payload() -> str:
    """One row an SDK and transport: the median call by the weight of its answer, stateful."""
    return _swept("payload", "call", "step", STEPS, "answer of")


def catalogue(segment: str) -> str:
    """One row an SDK and transport: the median of a segment by the number of tools, stateful."""
    return _swept("catalogue", segment, "catalogue", TOOLS, "tools")


def clients() -> str:
    """One row a cell: the same call as ready bytes, and through the official client."""
    lines = []
    for transport in ("stdio", "http"):
        for era in ("stateful", "stateless"):
            cell = {"transport": transport, "era": era}
            calls = [
                ns("clients", "call", client=name, **cell) for name in ("wire", "sdk", "sdk-auto")
            ]
            lines.append((f"{transport} {era}", *map(_ms, calls)))
    return table(("call", "ready bytes", "SDK client, lean", "SDK client, as it comes"), lines)


def _swept(run: str, segment: str, key: str, values: Sequence[str], words: str) -> str:
    lines = []
    for server in DESKS:
        for transport in ("stdio", "http"):
            cell = {"server": server, "transport": transport, "era": "stateful"}
            found = [ns(run, segment, **{**cell, key: value}) for value in values]
            lines.append((f"{SDKS[server]}, {transport}", *map(_ms, found)))
    return table((words, *values), lines)


def _first(run: str, segment: str, **cell: str) -> int | None:
    """Of cells that turned out to be the same on the wire, the first."""
    try:
        return ns(run, segment, **cell)
    except ValueError:
        found = rows(run)
        for key, value in (cell | {"segment": segment}).items():
            found = found[found[key] == value]
        return int(found["p50_ns"].iloc[0])


def _p50(row: Any) -> int | None:
    return None if row is None or pd.isna(row.p50_ns) else int(row.p50_ns)


def _ms(value_ns: int | None) -> str:
    return NONE if value_ns is None else milliseconds(value_ns)

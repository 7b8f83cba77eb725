"""A results folder of made-up calls, spread as those of a real server on a quiet machine."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench import store, tables

LAUNCHES, WARMUP = 10, 5
VERSIONS = {"stateful": "2025-11-25", "stateless": "2026-07-28"}
CELLS = tuple(itertools.product(("stdio", "http"), VERSIONS))
# Medians in ns and the deviation of their logarithms: tickets-python over stdio, pinned.
SENDING, ANSWERING, DECODING, BETWEEN = (9_700, 0.08), (640_000, 0.03), (5_400, 0.16), (11_500, 0.2)
SLOW_SHARE, SLOW_NS = 0.01, 150_000

Ints = NDArray[np.int64]


class Launch(NamedTuple):
    """One made-up launch: where it stands in the run, and the stamps of its calls."""

    number: int
    transport: str
    era: str
    sent: Ints
    written: Ints
    received: Ints
    decoded: Ints


def write(folder: Path, calls: int) -> None:
    """A complete run of `calls` calls in 4 cells of 10 launches, with 2 messages a call."""
    launches = list(_launches(calls // (len(CELLS) * LAUNCHES)))
    made = (
        pa.concat_tables([_calls(launch) for launch in launches]),
        tables.launch_table({launch.number: _line(launch) for launch in launches}),
        pa.concat_tables([_messages(launch) for launch in launches]),
    )
    for name, table in zip(store.TABLES, made, strict=True):
        store.write_table(table, folder / f"{name}.parquet")
    (folder / store.RUN_FILE).write_text(json.dumps(_meta()), "utf-8")


def _launches(calls: int) -> list[Launch]:
    draw = np.random.default_rng(1)
    found: list[Launch] = []
    began_ns = 10**12
    for number in range(len(CELLS) * LAUNCHES):
        steps = np.array(
            [
                median * np.exp(draw.normal(0, spread, calls))
                for median, spread in (BETWEEN, SENDING, ANSWERING, DECODING)
            ]
        )
        steps[2] += draw.exponential(SLOW_NS, calls) * (draw.random(calls) < SLOW_SHARE)
        stamps = began_ns + np.cumsum(steps.T.ravel()).astype(np.int64).reshape(calls, 4)
        found.append(Launch(number, *CELLS[number % len(CELLS)], *stamps.T))
        began_ns = int(stamps[-1, -1]) + 10**9
    return found


def _calls(launch: Launch) -> pa.Table:
    calls = len(launch.sent)
    phases = ["first", *["warmup"] * WARMUP, *["steady"] * (calls - 1 - WARMUP)]
    columns = {
        "cell": _cell(launch.transport, launch.era),
        "launch": launch.number,
        "round": launch.number // len(CELLS),
        "call": np.arange(calls),
        "phase": phases,
        "tool": "search_tickets",
        "outcome": "ok",
        "sent_ns": launch.sent,
        "written_ns": launch.written,
        "first_byte_ns": launch.received,
        "received_ns": launch.received,
        "decoded_ns": launch.decoded,
        "request_bytes": 329 + np.arange(calls) // 1000,
        "response_bytes": 629 + np.arange(calls) // 1000,
        "wire_requests": 1,
        "in_flight": 1,
        "request_id": np.arange(calls) + 3,
        "local_port": 40_000 + launch.number if launch.transport == "http" else None,
    }
    return _table(tables.CALLS, columns, calls)


def _messages(launch: Launch) -> pa.Table:
    calls = len(launch.sent)
    columns = {
        "cell": _cell(launch.transport, launch.era),
        "launch": launch.number,
        "seq": launch.number * 2 * calls + np.arange(2 * calls),
        "at_ns": np.column_stack([launch.sent, launch.received]).ravel(),
        "direction": ["out", "in"] * calls,
        "kind": ["request", "response"] * calls,
        "method": ["tools/call", None] * calls,
        "id": np.repeat(np.arange(calls) + 3, 2).astype(str),
        "bytes": [329, 629] * calls,
        "http_status": [None, 200 if launch.transport == "http" else None] * calls,
    }
    return _table(tables.MESSAGES, columns, 2 * calls)


def _table(schema: pa.Schema, columns: Mapping[str, Any], rows: int) -> pa.Table:
    """A value alone stands in every row; a column that is not named is null."""
    arrays = []
    for field in schema:
        value = columns.get(field.name)
        if value is None or isinstance(value, str | int):
            arrays.append(pa.repeat(pa.scalar(value, field.type), rows))
        else:
            arrays.append(pa.array(value, field.type))
    return pa.table(arrays, schema=schema)


def _line(launch: Launch) -> dict[str, Any]:
    """A line of launches.jsonl: opened in half a second, and the first call after it."""
    sent_ns = int(launch.sent[0])
    marks = {
        "spawning": sent_ns - 500_000_000,
        "tools_sent": sent_ns - 1_000_000 + launch.number,
        "tools_received": sent_ns - 400_000,
        "ready": sent_ns - 100_000,
        "first_sent": sent_ns,
        "first_received": int(launch.received[0]),
    }
    form = "line" if launch.transport == "stdio" else "json"
    return {
        "launch": launch.number,
        "cell": _cell(launch.transport, launch.era),
        "round": launch.number // len(CELLS),
        "outcome": "ok",
        "marks": marks,
        "facts": {"protocol_version": VERSIONS[launch.era], "response": form},
        "counts": {},
        "noise": [],
    }


def _meta() -> dict[str, Any]:
    cells = [
        {
            "cell": _cell(transport, era),
            "scenario": "tickets",
            "server": "tickets-python",
            "transport": transport,
            "era": era,
            "variant": {},
        }
        for transport, era in CELLS
    ]
    known = {"format": store.FORMAT, "status": "complete", "scenario": "tickets", "seed": 1}
    return {**known, "host": {}, "cells": cells, "warnings": [], "failed": {}}


def _cell(transport: str, era: str) -> str:
    return f"tickets/tickets-python/{transport}/{era}"

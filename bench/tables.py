"""The tables of a run: their columns, and the rows of recorders as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench import reported, segments
from bench.columns import CALL_COLUMNS, MESSAGE_COLUMNS, SPAN_COLUMNS, STAMP_COLUMNS
from bench.segments import MISSING, Stamps

_TYPES = {"int": pa.int64(), "text": pa.string()}
_USAGE = {"rss_bytes_start": pa.int64(), "rss_bytes_end": pa.int64(), "cpu_s": pa.float64()}


def schema(columns: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of a table of CALL_COLUMNS or MESSAGE_COLUMNS."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])


CALLS, MESSAGES = schema(CALL_COLUMNS), schema(MESSAGE_COLUMNS)
STAMPS, SPANS = schema(STAMP_COLUMNS), schema(SPAN_COLUMNS)


def launch_table(launches: Mapping[int, Mapping[str, Any]]) -> pa.Table:
    """One row a launch: `at_<point>_ns` stamps, `<segment>_ns` durations, counts and facts."""
    rows = [launches[number] for number in sorted(launches)]
    columns: dict[str, Any] = {
        "cell": pa.array([row["cell"] for row in rows], pa.string()),
        "launch": pa.array([row["launch"] for row in rows], pa.int64()),
        "round": pa.array([row["round"] for row in rows], pa.int64()),
        "outcome": pa.array([row["outcome"] for row in rows], pa.string()),
    }
    points = sorted({point for row in rows for point in row["marks"]})
    stamps = {point: [row["marks"].get(point, MISSING) for row in rows] for point in points}
    durations = segments.setups({p: array(values) for p, values in stamps.items()})
    for name in segments.SETUP_NAMES:
        if name in durations:
            columns[f"{name}_ns"] = nullable(durations[name])
    for point in points:
        columns[f"at_{point}_ns"] = nullable(array(stamps[point]))
    for name, kind in _USAGE.items():
        columns[name] = pa.array([row["facts"].get(name) for row in rows], kind)
    columns["details"] = pa.array([_details(row) for row in rows], pa.string())
    return pa.table(columns)


def in_order(messages: pa.Table) -> pa.Table:
    """By time within a launch; `seq` counts them anew, as they stand then."""
    keys = [("launch", "ascending"), ("at_ns", "ascending"), ("seq", "ascending")]
    ordered = messages.sort_by(keys)
    place = ordered.schema.get_field_index("seq")
    return ordered.set_column(place, "seq", pa.array(range(len(ordered)), pa.int64()))


def array(values: Sequence[int]) -> Stamps:
    """Stamps as segments takes them."""
    return np.array(values, np.int64)


def nullable(values: Stamps) -> pa.Array:
    """Durations as a column: MISSING becomes null."""
    return pa.array(values, pa.int64(), mask=values == MISSING)


def stamps(table: pa.Table, column: str) -> Stamps:
    """A column of stamps or durations: null becomes MISSING."""
    found: Stamps = table[column].fill_null(MISSING).to_numpy()
    return found


def details(row: Mapping[str, Any]) -> dict[str, Any]:
    """The counts, facts and quoted noise of one row of the launch table."""
    found: dict[str, Any] = json.loads(row["details"])
    return found


def _details(row: Mapping[str, Any]) -> str:
    """What varies from server to server in a launch, as JSON: counts, facts, quoted noise."""
    return json.dumps({key: row[key] for key in ("facts", "counts", "noise")})


def with_stamps(calls: pa.Table, found: pa.Table) -> pa.Table:
    """The calls, sorted by launch and call, with the server's stamps that were found for them."""
    calls = calls.sort_by([("launch", "ascending"), ("call", "ascending")])
    for name in ("read_ns", "entered_ns", "left_ns", "writing_ns"):
        calls = _with(calls, name, nullable(_beside(calls, found, name)))
    return calls


def with_spans(calls: pa.Table, found: pa.Table) -> pa.Table:
    """The calls, with the time that a span gives them in place of what a header says."""
    spans = nullable(_beside(calls, found, "reported_ns"))
    by = pc.if_else(spans.is_valid(), "span", calls["reported_by"])
    calls = _with(calls, "reported_ns", pc.coalesce(spans, calls["reported_ns"]))
    return _with(calls, "reported_by", by)


def whole(calls: pa.Table) -> pa.Table:
    """The calls with all columns of today, null where an older run has none of that name."""
    for field in CALLS:
        if field.name not in calls.column_names:
            calls = calls.append_column(field, pa.nulls(len(calls), field.type))
    return calls


def _with(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _beside(calls: pa.Table, found: pa.Table, name: str) -> Stamps:
    """For each call what `found` has for it in a column; MISSING where nothing."""
    found = found.sort_by([("launch", "ascending"), ("call", "ascending")])
    ours, theirs = _keys(calls), _keys(found)
    at = np.searchsorted(theirs, ours)
    there = at < len(theirs)
    there[there] = theirs[at[there]] == ours[there]
    values = np.full(len(ours), MISSING)
    values[there] = stamps(found, name)[at[there]]
    return values


def _keys(table: pa.Table) -> Stamps:
    """Launch and call as one number, which sorts as the two do."""
    keys: Stamps = table["launch"].to_numpy() * (1 << 40) + table["call"].to_numpy()
    return keys


def call_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A recorder's row in the order of CALL_COLUMNS; the server's stamps come later, if at all."""
    index, phase, tool, outcome, code, intended, *sent = row[:11]
    request, response, id, port, timing, wire_requests, *own = row[11:]
    server_stamps = (None, None, None, None)
    told_ns = reported.header_ns(timing)
    by = None if told_ns is None else "header"
    rest = (request, response, wire_requests, 1, id, port, told_ns, told_ns, by, *own)
    return (index, phase, tool, outcome, code, intended, *sent, *server_stamps, *rest)


def message_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    at_ns, direction, kind, method, id, size, http_status = row
    return at_ns, direction, kind, method, None if id is None else str(id), size, http_status

"""What went over the wire in a cell, counted by launch from its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bench import tables
from bench.segments import MISSING, Stamps

COUNTED = (
    "cancelled",
    "survived_cancel",
    "answered_after_cancel",
    "missed_events",
    "sessions_lost",
    "put_off",
)
NEVER = np.iinfo(np.int64).max


def on_the_wire(
    launches: pa.Table, calls: pa.Table, messages: pa.Table, details: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The `wire` object of a cell: per launch, the most that any launch saw.

    `setup_…` counts what came before the first call; `requests_per_call` what was asked between
    it and the floor, over the calls made, `methods` the same by method, and `hidden_ns` the median
    time of those that are no calls. `details` has the counts of each launch.
    """
    launch, at_ns = messages["launch"].to_numpy(), messages["at_ns"].to_numpy()
    out = _is(messages, "direction", "out")
    asked = _is(messages, "kind", "request") & out
    noise = _is(messages, "kind", "noise")
    told = _is(messages, "kind", "notification") & ~out
    before = at_ns < _stamp_of(launches, "at_first_sent_ns", launch)
    beyond = at_ns >= _stamp_of(launches, "at_floor_sent_ns", launch)
    made = len(calls) - int(_is(calls, "phase", "floor").sum())
    caused = asked & ~before & ~beyond
    methods = pc.value_counts(messages["method"].filter(pa.array(caused))).to_pylist()
    return {
        "setup_messages": _most(launch[before & ~noise]),
        "setup_requests": _most(launch[before & asked]),
        "requests_per_call": round(int(caused.sum()) / made, 3) if made else None,
        "methods": {row["values"]: row["counts"] for row in methods},
        "hidden_ns": _hidden(messages, caused),
        "first_call_requests": _first_call_requests(calls),
        "teardown_requests": _most_counted(details, "teardown_requests"),
        "connections_opened": _most_counted(details, "connections_opened") or 1,
        "reconnects": _most_counted(details, "reconnects"),
        "noise_lines": _most(launch[noise]),
        "server_requests": _most_counted(details, "server_requests"),
        **{name: _most_counted(details, name) for name in COUNTED},
        "notifications": _most(launch[told]),
    }


def error_codes(calls: pa.Table) -> dict[str, int]:
    """How many calls were refused with each JSON-RPC error code; requests for the floor are none.

    Failing tools (`isError`) are not among them: theirs is the other error channel.
    """
    codes = calls.filter(pc.not_equal(calls["phase"], "floor"))["error_code"].drop_null()
    rows = pc.value_counts(codes).to_pylist()
    return {str(row["values"]): row["counts"] for row in sorted(rows, key=lambda r: r["values"])}


def _hidden(messages: pa.Table, caused: NDArray[np.bool_]) -> dict[str, int]:
    """Median ns from request to reply, by method, of requests beside the calls themselves."""
    beside = caused & ~_is(messages, "method", "tools/call")
    asked = messages.filter(pa.array(beside))
    answers = messages.filter(pa.array(_is(messages, "kind", "response")))
    answers = answers.filter(pc.is_in(answers["id"], asked["id"].combine_chunks()))
    keys = zip(*(answers[name].to_pylist() for name in ("launch", "id")), strict=True)
    replied = dict(zip(keys, answers["at_ns"].to_pylist(), strict=True))
    took: dict[str, list[int]] = {}
    for row in asked.to_pylist():
        at_ns = replied.get((row["launch"], row["id"]))
        if at_ns is not None:
            took.setdefault(row["method"], []).append(at_ns - row["at_ns"])
    return {method: int(np.median(values)) for method, values in took.items()}


def _first_call_requests(calls: pa.Table) -> int | None:
    """The most that the first call of any launch caused."""
    first = calls.filter(pc.equal(calls["phase"], "first"))
    most: int | None = pc.max(first["wire_requests"]).as_py()
    return most


def _is(table: pa.Table, column: str, value: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (
        pc.equal(table[column], value)
        .fill_null(False)
        .combine_chunks()
        .to_numpy(zero_copy_only=False)
    )
    return found


def _stamp_of(launches: pa.Table, column: str, launch: Stamps) -> Stamps:
    """The launch's stamp, for each message; NEVER where its launch did not come that far."""
    known = launches["launch"].to_numpy()
    by_launch = np.full(int(max(known.max(initial=0), launch.max(initial=0))) + 1, NEVER)
    if column in launches.column_names:
        stamps = tables.stamps(launches, column)
        by_launch[known] = np.where(stamps == MISSING, NEVER, stamps)
    return by_launch[launch]


def _most(launch: Stamps) -> int:
    return int(np.unique(launch, return_counts=True)[1].max()) if len(launch) else 0


def _most_counted(details: Sequence[Mapping[str, Any]], name: str) -> int:
    return max((detail["counts"].get(name, 0) for detail in details), default=0)

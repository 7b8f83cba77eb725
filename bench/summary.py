"""A run to the document of `report --format json`: cells, segments, comparisons, warnings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bench import compare, counted, segments, stats, store, tables
from bench.compare import Compared, Sample, Side
from bench.era import era_of_version
from bench.model import OUTCOMES
from bench.segments import MISSING, Stamps
from bench.store import Run

POINTS = ("sent", "written", "first_byte", "received", "decoded")
SERVER_POINTS = ("read", "entered", "left", "writing")
COMPARED = ("setup", "first_call", "call")
AXES = ("transport", "era")
MESSAGE_COLUMNS = ("cell", "launch", "at_ns", "direction", "kind")
SEEN_VARIANTS = ("session", "response", "probe")


class Seen(NamedTuple):
    """One cell of a run with the rows that belong to it."""

    asked: Mapping[str, Any]
    calls: pa.Table
    launches: pa.Table
    messages: pa.Table
    details: Sequence[Mapping[str, Any]]


def document(run: Run) -> dict[str, Any]:
    """The whole summary as plain data; n = 0 gives nulls, never NaN."""
    cells = [_seen(run, asked) for asked in run.meta["cells"]]
    sides = [_side(cell) for cell in cells]
    axes = (*AXES, *sorted({key for cell in cells for key in cell.asked["variant"]}))
    compared = compare.compare(tuple(compare.pairs(sides, axes)), COMPARED)
    return {
        "format": store.FORMAT,
        "run": run.path.name,
        "path": str(run.path),
        "status": run.status,
        "scenario": run.meta.get("scenario"),
        "seed": run.meta.get("seed"),
        "host": run.meta.get("host", {}),
        "cells": [_cell(run, cell, side) for cell, side in zip(cells, sides, strict=True)],
        "comparisons": _comparisons(compared),
        "warnings": [*run.meta.get("warnings", []), *_torn(run)],
    }


def _seen(run: Run, asked: Mapping[str, Any]) -> Seen:
    calls, launches, messages = (
        table.filter(pc.equal(table["cell"], asked["cell"]))
        for table in (run.call_table, run.launch_table, run.message_table.select(MESSAGE_COLUMNS))
    )
    details = [json.loads(text) for text in launches["details"].to_pylist()]
    return Seen(asked, calls, launches, messages, details)


def _side(cell: Seen) -> Side:
    variant = dict(cell.asked["variant"])
    labels = {key: cell.asked[key] for key in ("scenario", "server", "transport", "era")}
    seen = {**_labels(cell), "protocol_version": _version(cell) or ""}
    return Side(cell.asked["cell"], {**labels, **variant}, seen, dict(_samples(cell)))


def _samples(cell: Seen) -> Iterator[tuple[str, Sample]]:
    """Samples of every segment: setups by launch, steady calls that were ok, the floor."""
    rounds = cell.launches["round"].to_numpy()
    for name in segments.SETUP_NAMES:
        if f"{name}_ns" in cell.launches.column_names:
            yield from _sample(name, tables.stamps(cell.launches, f"{name}_ns"), rounds)
    steady, rounds = _durations(cell, "steady")
    for name, durations in steady.items():
        yield from _sample(name, durations, rounds)
    floor, floor_rounds = _durations(cell, "floor")
    if "call" in floor:
        yield from _sample("floor", floor["call"], floor_rounds)
    if "call" in floor and "call" in steady and "work" not in steady:
        yield from _estimate(steady["call"], rounds, floor["call"], floor_rounds)


def _durations(cell: Seen, phase: str) -> tuple[dict[str, Stamps], Stamps]:
    """Call segments of the ok calls of a phase, and the round of each."""
    wanted = pc.and_(pc.equal(cell.calls["phase"], phase), pc.equal(cell.calls["outcome"], "ok"))
    calls = cell.calls.filter(wanted)
    stamps = {point: tables.stamps(calls, f"{point}_ns") for point in (*POINTS, *SERVER_POINTS)}
    return segments.calls(stamps), calls["round"].to_numpy()


def _estimate(
    call: Stamps, rounds: Stamps, floor: Stamps, floor_rounds: Stamps
) -> Iterator[tuple[str, Sample]]:
    """Where nothing tells the work, the floor stands for the boundary (an estimate)."""
    yield from _sample("boundary", floor, floor_rounds)
    there = call != MISSING
    rest = call[there] - stats.rank_quantile(floor[floor != MISSING], 0.5)
    yield from _sample("work", rest, rounds[there])


def _sample(name: str, values: Stamps, rounds: Stamps) -> Iterator[tuple[str, Sample]]:
    there = values != MISSING
    if there.any():
        yield name, Sample(values[there], rounds[there])


def _cell(run: Run, cell: Seen, side: Side) -> dict[str, Any]:
    asked = cell.asked
    steady = cell.calls["outcome"].filter(pc.equal(cell.calls["phase"], "steady"))
    outcomes = {row["values"]: row["counts"] for row in pc.value_counts(steady).to_pylist()}
    version = _version(cell)
    seed = run.meta.get("seed") or 0
    return {
        "cell": asked["cell"],
        "server": asked["server"],
        "transport": asked["transport"],
        "era": era_of_version(version) if version else asked["era"],
        "protocol_version": version,
        "variant": {**_labels(cell), **_unseen(asked["variant"])},
        "placement": run.meta.get("placement", {"client": [], "server": []}),
        "launches": len(cell.launches),
        "calls": len(steady),
        "outcomes": {name: outcomes.get(name, 0) for name in OUTCOMES},
        "wire": counted.on_the_wire(cell.launches, cell.calls, cell.messages, cell.details),
        "work_source": _work_source(cell, side),
        "segments": {name: _figures(sample, seed) for name, sample in sorted(side.samples.items())},
        "warnings": list(_warnings(run, cell)),
    }


def _work_source(cell: Seen, side: Side) -> str | None:
    """How the work is known: a `probe` in the server, or an `estimate` from the floor."""
    if "work" not in side.samples:
        return None
    return "probe" if cell.calls["entered_ns"].null_count < len(cell.calls) else "estimate"


def _figures(sample: Sample, seed: int) -> dict[str, int | None]:
    found = stats.describe(sample.values, sample.round, seed=seed)
    return {
        "n": found.n,
        "p50_ns": found.p50_ns,
        "low_ns": found.low_ns,
        "high_ns": found.high_ns,
        "p90_ns": found.p90_ns,
        "p99_ns": found.p99_ns,
        "mean_ns": found.mean_ns,
        "min_ns": found.min_ns,
        "max_ns": found.max_ns,
        "wants": found.wants,
    }


def _labels(cell: Seen) -> dict[str, str]:
    """The variant as the wire showed it (design: labels come from what was seen)."""
    facts = [detail["facts"] for detail in cell.details]
    forms = sorted({fact["response"] for fact in facts if fact.get("response")})
    kept = any(fact.get("session") for fact in facts)
    stateless = _version(cell) and era_of_version(str(_version(cell))) == "stateless"
    piped = forms == ["line"]
    return {
        "session": "none" if stateless or not (kept or piped) else "kept",
        "response": "+".join(forms) or "none",
        "connection": "keep-alive",
        "client": "wire",
        "probe": "on" if any(fact.get("probe_sdk") for fact in facts) else "off",
    }


def _unseen(variant: Mapping[str, str]) -> dict[str, str]:
    """Variants that leave no trace on the wire, as they were asked for."""
    return {key: value for key, value in variant.items() if key not in SEEN_VARIANTS}


def _version(cell: Seen) -> str | None:
    versions = {detail["facts"].get("protocol_version") for detail in cell.details} - {None}
    return max(versions, default=None)


def _warnings(run: Run, cell: Seen) -> Iterator[str]:
    """What a reader should doubt in this cell, with what helps."""
    name = cell.asked["cell"]
    error = run.meta.get("failed", {}).get(name)
    if error:
        yield f"not measured: {error}"
    for detail, outcome in zip(cell.details, cell.launches["outcome"].to_pylist(), strict=True):
        if outcome != "ok" and detail["facts"].get("error") and not error:
            yield f"a launch ended early ({outcome}): {detail['facts']['error']}"
    quoted = [line for detail in cell.details for line in detail["noise"]][:3]
    if quoted:
        lines = "; ".join(json.dumps(line, ensure_ascii=False) for line in quoted)
        yield f"lines on standard output that are no messages, the first: {lines}"
    bad = cell.calls.filter(pc.not_equal(cell.calls["outcome"], "ok"))
    if len(bad):
        kinds = ", ".join(
            f"{row['counts']} {row['values']}"
            for row in pc.value_counts(bad["outcome"]).to_pylist()
        )
        yield f"{len(bad)} of {len(cell.calls)} calls failed ({kinds}); see transcript.jsonl"
    for what, words in COUNTED_WARNINGS.items():
        total = sum(detail["counts"].get(what, 0) for detail in cell.details)
        if total:
            yield f"{total} {words}"


COUNTED_WARNINGS: Mapping[str, str] = {
    "duplicate_replies": "replies came twice, or after their call was given up",
    "stray_replies": "replies had an id that no request of ours had",
    "leftovers": "processes of the server could not be ended",
}


def _torn(run: Run) -> list[str]:
    return [f"{run.torn} torn ends of files were left out"] if run.torn else []


def _comparisons(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    wanted = compare.rounds_wanted(len(compared))
    verdicts = {(*_cells(each), each.segment): each.verdict for each in compared}
    return [
        {**_comparison(each), "rounds_wanted": wanted, **_break_even(each, verdicts)}
        for each in compared
    ]


def _cells(each: Compared) -> tuple[str, str]:
    return each.pair.base.cell, each.pair.head.cell


def _break_even(
    each: Compared, verdicts: Mapping[tuple[str, str, str], stats.Verdict]
) -> dict[str, Any]:
    """Said once a pair, beside its call."""
    even = None
    if each.segment == "call":
        setup = verdicts.get((*_cells(each), "setup"), "cannot tell")
        even = compare.break_even(each.pair, setup, each.verdict)
    return {
        "break_even_calls": even.calls if even else None,
        "cheaper": even.cheaper if even else None,
    }


def _comparison(each: Compared) -> dict[str, Any]:
    shift = each.shift
    values = [side.labels[each.pair.axis] for side in (each.pair.base, each.pair.head)]
    return {
        "axis": each.pair.axis,
        "values": values,
        "where": "/".join(
            part
            for part in each.pair.base.cell.split("/")[1:]
            if part.rpartition("=")[2] not in values
        ),
        "base": each.pair.base.cell,
        "head": each.pair.head.cell,
        "segment": each.segment,
        "ratio": None if shift is None else round(shift.ratio, 4),
        "low": None if shift is None or shift.low is None else round(shift.low, 4),
        "high": None if shift is None or shift.high is None else round(shift.high, 4),
        "p_adjusted": each.p_adjusted,
        "verdict": each.verdict,
        "rounds": each.rounds,
        "would_have_seen_percent": each.would_have_seen_percent,
        "also_differs": list(each.pair.also_differs),
    }

"""One cell of a run as it was seen: its rows, its labels from the wire, its samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench import comparison, segments, stats, tables
from bench.comparison import Sample
from bench.era import era_of_version
from bench.segments import MISSING, Stamps
from bench.store import Run

POINTS = ("sent", "written", "first_byte", "received", "decoded")
CLIENT_POINTS = ("connecting", "connected", "out", "in", "asked", "progress", "event", "cancelled")
SERVER_POINTS = ("read", "entered", "left", "writing")
REPORTS = ("span", "header")
MESSAGE_COLUMNS = ("cell", "launch", "at_ns", "direction", "kind", "method", "id")


class Seen(NamedTuple):
    """One cell of a run with the rows that belong to it."""

    asked: Mapping[str, Any]
    calls: pa.Table
    launches: pa.Table
    messages: pa.Table
    details: Sequence[Mapping[str, Any]]


def cell_of(run: Run, asked: Mapping[str, Any]) -> Seen:
    """The rows of one of the cells that run.json lists."""
    calls, launches, messages = (
        table.filter(pc.equal(table["cell"], asked["cell"]))
        for table in (run.call_table, run.launch_table, run.message_table.select(MESSAGE_COLUMNS))
    )
    details = [json.loads(text) for text in launches["details"].to_pylist()]
    return Seen(asked, calls, launches, messages, details)


def labels(cell: Seen) -> dict[str, str]:
    """The variant as the wire showed it."""
    facts = [detail["facts"] for detail in cell.details]
    forms = sorted({fact["response"] for fact in facts if fact.get("response")})
    kept = any(fact.get("session") for fact in facts)
    stateless = version(cell) and era_of_version(str(version(cell))) == "stateless"
    piped = forms == ["line"]
    listed = sorted({fact.get("tools", 0) for fact in facts})
    numbered = (
        {"catalogue": "+".join(map(str, listed))} if "catalogue" in cell.asked["variant"] else {}
    )
    return {
        **numbered,
        "session": "none" if stateless or not (kept or piped) else "kept",
        "response": "+".join(forms) or "none",
        "connection": _connection(cell),
        "client": "+".join(sorted({fact.get("client", "wire") for fact in facts})) or "wire",
        "opening": "+".join(sorted({fact.get("opening", "known") for fact in facts})) or "known",
        "probe": "on" if any(fact.get("probe_sdk") for fact in facts) else "off",
        "spans": "on" if any("spans" in fact for fact in facts) else "off",
    }


def _connection(cell: Seen) -> str:
    """`per-call` where nearly every message sent had a connection of its own; `mixed`: about half.

    A pipe is one connection, which nobody opens.
    """
    opened = sum(detail["counts"].get("connections_opened", 0) for detail in cell.details)
    sent = pc.sum(pc.equal(cell.messages["direction"], "out")).as_py() or 0
    share = opened / max(1, sent)
    return "keep-alive" if share <= 0.5 else "mixed" if share < 0.9 else "per-call"


def version(cell: Seen) -> str | None:
    """The protocol version agreed; the newest where launches differ."""
    versions = {detail["facts"].get("protocol_version") for detail in cell.details} - {None}
    return max(versions, default=None)


def samples(cell: Seen) -> Iterator[tuple[str, Sample]]:
    """Samples of every segment: setups by launch, steady calls that were ok, the floor."""
    rounds = cell.launches["round"].to_numpy()
    over = given_up(cell)
    found = setups(cell)
    for name in {**found, **over}:
        values = found.get(name, np.full(len(rounds), MISSING))
        yield from _sample(name, values, rounds, over.get(name))
    steady, rounds = durations(cell, "steady")
    for name, values in steady.items():
        yield from _sample(name, values, rounds)
    floor, floor_rounds = durations(cell, "floor")
    if "call" in floor:
        yield from _sample("floor", floor["call"], floor_rounds)
    requests, request_rounds = durations(cell, "round")
    if "call" in requests:
        yield from _sample("round", requests["call"], request_rounds)
    yield from _stopping(cell)
    if "call" in floor and "call" in steady and work_source(cell) is None:
        served = steady.get("served", steady["call"])
        yield from _estimate(served, rounds, floor["call"], floor_rounds)


def setups(cell: Seen) -> dict[str, Stamps]:
    """Setup segments, launch for launch."""
    return {
        name: tables.stamps(cell.launches, f"{name}_ns")
        for name in segments.SETUP_NAMES
        if f"{name}_ns" in cell.launches.column_names
    }


def given_up(cell: Seen) -> dict[str, Stamps]:
    """Setup segments that launches were given up in, ns until then, launch for launch.

    Only those that other launches have had, or that the launch named as the step it failed at.
    """
    points = [name for name in cell.launches.column_names if name.startswith("at_")]
    stamps = {name[3:-3]: tables.stamps(cell.launches, name) for name in points}
    named = {detail["facts"].get("gave_up") for detail in cell.details}
    known = named | {"setup"} | setups(cell).keys()
    over = segments.given_up(stamps)
    return {name: over[name] for name in over if name in known and (over[name] != MISSING).any()}


def durations(cell: Seen, phase: str) -> tuple[dict[str, Stamps], Stamps]:
    """Call segments of the ok calls of a phase, and the round of each."""
    calls = ok_calls(cell, phase)
    return timed(cell, calls), calls["round"].to_numpy()


def timed(cell: Seen, calls: pa.Table) -> dict[str, Stamps]:
    """Call segments of some of the cell's calls, row for row."""
    points = (*POINTS, *SERVER_POINTS, *CLIENT_POINTS)
    stamps = {point: tables.stamps(calls, f"{point}_ns") for point in points}
    found = segments.calls(stamps)
    source = work_source(cell)
    if source in REPORTS and "call" in found:
        by = pc.equal(calls["reported_by"], source).fill_null(False).to_numpy()
        told = np.where(by, tables.stamps(calls, "reported_ns"), MISSING)
        found |= segments.told(found["call"], told)
    return segments.thoughtful(found, stamps, tables.stamps(calls, "think_ns"))


def ok_calls(cell: Seen, phase: str) -> pa.Table:
    """The rows of the ok calls of a phase."""
    wanted = pc.and_(pc.equal(cell.calls["phase"], phase), pc.equal(cell.calls["outcome"], "ok"))
    return cell.calls.filter(wanted)


def work_source(cell: Seen) -> str | None:
    """The best of what told the work: `probe`, `span` or `header`; None where nothing did.

    One source for all calls of a cell: they do not mean the same, so they do not mix.
    """
    calls = ok_calls(cell, "steady")
    if pc.any(pc.and_(calls["entered_ns"].is_valid(), calls["left_ns"].is_valid())).as_py():
        return "probe"
    told = set(calls["reported_by"].unique().to_pylist())
    return next((source for source in REPORTS if source in told), None)


def _stopping(cell: Seen) -> Iterator[tuple[str, Sample]]:
    """How long cancelled calls went on, where a probe saw them end."""
    calls = cell.calls.filter(pc.equal(cell.calls["outcome"], "cancelled"))
    stamps = {point: tables.stamps(calls, f"{point}_ns") for point in ("cancelled", "left")}
    found = segments.calls(stamps)
    if "stopping" in found:
        yield from _sample("stopping", found["stopping"], calls["round"].to_numpy())


def _estimate(
    call: Stamps, rounds: Stamps, floor: Stamps, floor_rounds: Stamps
) -> Iterator[tuple[str, Sample]]:
    """Where nothing tells the work, the floor stands for the boundary (an estimate).

    Nothing where the floor is the dearer one: that estimates neither.
    """
    there = call != MISSING
    floor_ns = stats.rank_quantile(floor[floor != MISSING], 0.5)
    if floor_ns > stats.rank_quantile(call[there], 0.5):
        return
    yield from _sample("boundary", floor, floor_rounds)
    yield from _sample("work", call[there] - floor_ns, rounds[there])


def _sample(
    name: str, values: Stamps, rounds: Stamps, over: Stamps | None = None
) -> Iterator[tuple[str, Sample]]:
    there = values != MISSING
    beyond = comparison.NOTHING if over is None else over[over != MISSING]
    if there.any() or len(beyond):
        yield name, Sample(values[there], rounds[there], beyond)


def server(cell: Seen) -> str:
    """Who the server says it is, name and version; empty where it does not."""
    known: Mapping[str, Any] = next(
        (d["facts"]["server_info"] for d in cell.details if "server_info" in d["facts"]), {}
    )
    return " ".join(str(known[key]) for key in ("name", "version") if known.get(key))

"""A run to the document of `report --format json`: cells, segments, comparisons, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from bench import (
    by_step,
    comparison,
    counted,
    doubts,
    ledger,
    outdoors,
    patterns,
    seen,
    settled,
    spread,
    stats,
    store,
)
from bench.comparison import Compared, Side
from bench.era import era_of_version
from bench.model import OUTCOMES
from bench.patterns import Figures
from bench.seen import Seen
from bench.store import Run

COMPARED = ("setup", "first_call", "call")
SPREAD = ("setup", "call", "work")
AXES = ("transport", "era")
# What a client asks before its first call is its own choice: the way to a first result is not.
# Where each call has a start of its own there is nothing for a dearer setup to pay off.
COMPARED_ALONG = {"client": ("first_result", "call"), "policy": ("first_result", "call")}


def document(run: Run) -> dict[str, Any]:
    """The whole summary as plain data; n = 0 gives nulls, never NaN."""
    cells = [seen.cell_of(run, asked) for asked in run.meta["cells"]]
    sides = [side_of(cell) for cell in cells]
    axes = (*AXES, *sorted({key for cell in cells for key in cell.asked["variant"]}))
    compared = comparison.compare(
        tuple(comparison.pairs(sides, axes)), COMPARED, along=COMPARED_ALONG
    )
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
        "spreads": list(_spreads(sides)),
        "warnings": [*run.meta.get("warnings", []), *_torn(run)],
    }


def _spreads(sides: Sequence[Side]) -> Iterator[dict[str, Any]]:
    """How the readings of a segment are spread, all cells that have any on one axis."""
    for name in SPREAD:
        samples = {side.cell: side.samples[name].values for side in sides if name in side.samples}
        found = {cell: values for cell, values in samples.items() if len(values)}
        if found:
            yield spread.document(name, found)


def unbelieved(cell: Mapping[str, Any]) -> list[str]:
    """Why a cell of the document makes its run invalid (exit code 3), in words; mostly nothing."""
    doubts = {
        "no calls": not cell["calls"],
        f"{cell['failed_calls']} failed calls": cell["failed_calls"],
        f"{cell['failed_launches']} failed launches": cell["failed_launches"],
        "client-bound: our own client set the pace": cell["client_bound"],
    }
    return [words for words, there in doubts.items() if there]


def failure(cell: Mapping[str, Any]) -> str:
    """Why the figures of a cell of the document are no baseline, in words; empty where they are."""
    told = next((each for each in cell["warnings"] if each.startswith("not measured")), None)
    if told is not None or not cell["outcomes"]["ok"]:
        return told or "no call was ok"
    counts = {"calls": cell["failed_calls"], "launches": cell["failed_launches"]}
    return ", ".join(f"{count} {what} failed" for what, count in counts.items() if count)


def side_of(cell: Seen) -> Side:
    """A cell as a comparison sees it."""
    variant = dict(cell.asked["variant"])
    labels = {key: cell.asked[key] for key in ("scenario", "server", "transport", "era")}
    version = seen.version(cell)
    known = {**seen.labels(cell), "protocol_version": version or ""}
    if version:
        known["era"] = era_of_version(version)
    return Side(cell.asked["cell"], {**labels, **variant}, known, dict(seen.samples(cell)))


def _cell(run: Run, cell: Seen, side: Side) -> dict[str, Any]:
    seed = run.meta.get("seed") or 0
    wire = counted.on_the_wire(cell.launches, cell.calls, cell.messages, cell.details)
    wire |= settled.on_the_wire(cell)
    figures = {name: by_step.figures(sample, seed) for name, sample in sorted(side.samples.items())}
    return {
        **_who(run, cell),
        **_made(cell),
        "wire": wire,
        "work_source": _work_source(cell, side),
        "inconsistent_server_time": doubts.inconsistent(cell),
        "segments": figures,
        "steps": by_step.steps(cell, figures, seed),
        "ledger": {
            "call": _call_ledger(cell, side),
            "setup": ledger.typical(seen.setups(cell), "setup", ledger.SETUP_PARTS),
        },
        "client_bound": doubts.client_bound(cell) is not None,
        "findings": [
            *patterns.find(_looked_at(cell, side, wire)),
            *settled.findings(cell),
            *outdoors.findings(cell),
        ],
        "warnings": [
            *doubts.warnings(run, cell),
            *settled.warnings(cell),
            *outdoors.warnings(cell),
        ],
    }


def _who(run: Run, cell: Seen) -> dict[str, Any]:
    """What the cell is, by what was seen of it."""
    asked, version = cell.asked, seen.version(cell)
    return {
        "cell": asked["cell"],
        "server": asked["server"],
        "transport": asked["transport"],
        "era": era_of_version(version) if version else asked["era"],
        "protocol_version": version,
        **settled.facts(cell),
        "variant": {**asked["variant"], **seen.labels(cell)},
        "placement": run.meta.get("placement", {"client": [], "server": []}),
    }


def _made(cell: Seen) -> dict[str, Any]:
    """How many launches and calls there were, and what became of them."""
    steady = cell.calls["outcome"].filter(pc.equal(cell.calls["phase"], "steady"))
    outcomes = {row["values"]: row["counts"] for row in pc.value_counts(steady).to_pylist()}
    return {
        "launches": len(cell.launches),
        "failed_launches": doubts.failed_launches(cell),
        "calls": len(steady),
        "failed_calls": doubts.failed_calls(cell),
        "outcomes": {name: outcomes.get(name, 0) for name in OUTCOMES},
        "errors": counted.error_codes(cell.calls),
    }


def _call_ledger(cell: Seen, side: Side) -> dict[str, int]:
    reported = seen.work_source(cell) in seen.REPORTS
    parts = ("work", "boundary") if reported else ledger.CALL_PARTS
    found = ledger.typical(seen.durations(cell, "steady")[0], "call", parts)
    if found or reported or not {"call", "floor"} <= side.samples.keys():
        return found
    call_ns, floor_ns = (
        stats.rank_quantile(side.samples[name].values, 0.5) for name in ("call", "floor")
    )
    return ledger.estimate(call_ns, floor_ns)


def _looked_at(cell: Seen, side: Side, wire: Mapping[str, Any]) -> Figures:
    made = cell.calls["phase"].to_numpy(zero_copy_only=False) != "floor"
    return Figures(
        samples=side.samples,
        by_step=by_step.calls(cell),
        wire=wire,
        methods=wire["methods"],
        calls=int(made.sum()),
        launches=len(cell.launches),
        own_client=seen.labels(cell)["client"] == "wire",
        one_per_call=cell.asked["variant"].get("policy") == "one-per-call",
        per_call_connections=cell.asked["variant"].get("connection") == "per-call",
    )


def _work_source(cell: Seen, side: Side) -> str | None:
    """How the work is known: `probe`, `span`, `header`, or an `estimate` from the floor."""
    return (seen.work_source(cell) or "estimate") if "work" in side.samples else None


def _torn(run: Run) -> list[str]:
    return [f"{run.torn} torn ends of files were left out"] if run.torn else []


def _comparisons(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    wanted = comparison.rounds_wanted(len(compared))
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
    if each.segment == "call" and each.pair.axis not in COMPARED_ALONG:
        setup = verdicts.get((*_cells(each), "setup"), "cannot tell")
        even = comparison.break_even(each.pair, setup, each.verdict)
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
        "ratio": None if shift is None else _digits(shift.ratio),
        "low": None if shift is None or shift.low is None else _digits(shift.low),
        "high": None if shift is None or shift.high is None else _digits(shift.high),
        "p_adjusted": each.p_adjusted,
        "verdict": each.verdict,
        "rounds": each.rounds,
        "would_have_seen_percent": each.would_have_seen_percent,
        "also_differs": list(each.pair.also_differs),
    }


def _digits(ratio: float) -> float:
    """Five significant ones: a start of seconds beside one of microseconds is a ratio too."""
    return float(f"{ratio:.5g}")

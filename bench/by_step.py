"""The figures of each step of a scenario by itself, where it asks more than one kind of thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench import censored, seen, segments, stats
from bench.comparison import Sample
from bench.model import OUTCOMES
from bench.seen import Seen

SHOWN = (
    *(segment.name for segment in segments.CALL),
    "boundary",
    "served",
    segments.THINK,
    "round",
)


def steps(cell: Seen, whole: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """One entry a step, in the order asked: outcomes of its steady calls, and its segments.

    `whole` has the figures of the cell, which are those of its step where it has one only.
    """
    beside = pa.array(["floor", "round"])
    asked = cell.calls.filter(pc.invert(pc.is_in(cell.calls["phase"], beside)))
    labels = asked["tool"].unique().to_pylist()
    if len(labels) == 1:
        return [_step(cell, labels[0], {k: v for k, v in whole.items() if k in SHOWN})]
    return [_step(cell, label, _figures(_of(cell, label), seed)) for label in labels]


def calls(cell: Seen) -> dict[str, Sample]:
    """The steady calls of each step that were ok, ns, without our own thinking in them."""
    found = {}
    for label in cell.calls["tool"].unique().to_pylist():
        durations, rounds = seen.durations(_of(cell, label), "steady")
        values = durations.get("served", durations.get("call"))
        if values is not None and len(values):
            there = values != segments.MISSING
            found[label] = Sample(values[there], rounds[there])
    return found


def figures(sample: Sample, seed: int) -> dict[str, Any]:
    """A sample as the document tells it, ns; a quantile it does not carry is None."""
    if len(sample.over):
        return censored.figures(sample)
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


def _step(cell: Seen, label: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    calls = _of(cell, label).calls
    steady = calls.filter(pc.equal(calls["phase"], "steady"))
    counted = pc.value_counts(steady["outcome"]).to_pylist()
    counts = {row["values"]: row["counts"] for row in counted}
    return {
        "step": label,
        "calls": len(steady),
        "outcomes": {name: counts.get(name, 0) for name in OUTCOMES},
        "requests_per_call": _mean_requests(steady["wire_requests"].to_pylist()),
        "segments": figures,
    }


def _figures(cell: Seen, seed: int) -> dict[str, Any]:
    found = {name: each for name, each in seen.samples(cell) if name in SHOWN}
    return {name: figures(sample, seed) for name, sample in sorted(found.items())}


def _of(cell: Seen, label: str) -> Seen:
    return cell._replace(calls=cell.calls.filter(pc.equal(cell.calls["tool"], label)))


def _mean_requests(requests: list[int | None]) -> float | None:
    known = [each for each in requests if each is not None]
    return round(sum(known) / len(known), 3) if known else None

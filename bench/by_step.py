"""The figures of each step of a scenario by itself, where it asks more than one kind of thing."""

from __future__ import annotations

from collections.abc import Iterator
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


def steps(cell: Seen, seed: int) -> list[dict[str, Any]]:
    """One entry a step, in the order asked: outcomes of its steady calls, and its segments."""
    beside = pa.array(["floor", "round"])
    asked = cell.calls.filter(pc.invert(pc.is_in(cell.calls["phase"], beside)))
    return [_step(cell, label, seed) for label in asked["tool"].unique().to_pylist()]


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


def _step(cell: Seen, label: str, seed: int) -> dict[str, Any]:
    mine = cell._replace(calls=cell.calls.filter(pc.equal(cell.calls["tool"], label)))
    steady = mine.calls.filter(pc.equal(mine.calls["phase"], "steady"))
    counted = pc.value_counts(steady["outcome"]).to_pylist()
    counts = {row["values"]: row["counts"] for row in counted}
    return {
        "step": label,
        "calls": len(steady),
        "outcomes": {name: counts.get(name, 0) for name in OUTCOMES},
        "requests_per_call": _mean_requests(steady["wire_requests"].to_pylist()),
        "segments": {name: figures(sample, seed) for name, sample in sorted(_samples(mine))},
    }


def _samples(cell: Seen) -> Iterator[tuple[str, Sample]]:
    yield from ((name, sample) for name, sample in seen.samples(cell) if name in SHOWN)


def _mean_requests(requests: list[int | None]) -> float | None:
    known = [each for each in requests if each is not None]
    return round(sum(known) / len(known), 3) if known else None

"""Samples to comparisons along one axis, each with its interval, its verdict and its doubts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench import power, stats
from bench.stats import Shift, Verdict

LEVEL = 0.05  # of all comparisons of one run
FEWEST_ROUNDS = 6
NOTHING: NDArray[np.int64] = np.array([], np.int64)
SHOWN: tuple[Verdict, ...] = ("slower", "faster")
# What cannot but differ along an axis: it is the axis, seen from another side.
IMPLIED: Mapping[str, tuple[str, ...]] = {
    "era": ("protocol_version", "session"),
    "transport": ("response",),
}


class Sample(NamedTuple):
    """All readings of one segment in one cell, ns; `round` groups them by launch round.

    `over`: those of which is known only that they would have been longer, ns: censored ones.
    """

    values: NDArray[np.int64]
    round: NDArray[np.int64]
    over: NDArray[np.int64] = NOTHING


class Side(NamedTuple):
    """One cell as a comparison sees it: what it was asked and seen to be, and its samples."""

    cell: str
    labels: Mapping[str, str]
    seen: Mapping[str, str]
    samples: Mapping[str, Sample]


class Pair(NamedTuple):
    """Two cells that differ along one axis only, as asked; and what else was seen to differ."""

    axis: str
    base: Side
    head: Side
    also_differs: tuple[str, ...]


class Compared(NamedTuple):
    """One segment of a pair: head against base, with what the blocks could have shown."""

    pair: Pair
    segment: str
    shift: Shift | None
    p_adjusted: float | None
    verdict: Verdict
    rounds: int
    would_have_seen_percent: float | None


class BreakEven(NamedTuple):
    """After how many calls the dearer setup with the cheaper call has paid for itself.

    `calls` None: never, or nothing to pay for; `cheaper` then costs less from the first call on
    (None: neither does).
    """

    calls: int | None
    cheaper: str | None


def pairs(sides: Sequence[Side], axes: Sequence[str]) -> Iterator[Pair]:
    """Every pair of cells that differ in one label that both have, the earlier one as base.

    A label that only one has means nothing in the other (`response` over a pipe). Cells that were
    asked to differ but were seen to be alike are no pair.
    """
    for axis in axes:
        for at, base in enumerate(sides):
            for head in sides[at + 1 :]:
                if differing(base.labels, head.labels, both=True) == (axis,) and _seen_apart(
                    axis, base, head
                ):
                    implied = (axis, *IMPLIED.get(axis, ()))
                    also = tuple(x for x in differing(base.seen, head.seen) if x not in implied)
                    yield Pair(axis, base, head, also)


def compare(
    found: Sequence[Pair],
    segments: Sequence[str],
    *,
    along: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[Compared, ...]:
    """Compare each segment that both sides have, by rounds in which both ran.

    `along` gives an axis other segments than the rest.

    A round is a block: one launch of each cell, close in time. p values are adjusted for all
    comparisons made here (Holm). With fewer than 6 rounds no interval is possible at 95 %.
    """
    rows = [
        (pair, name, log_ratios(pair.base.samples[name], pair.head.samples[name]))
        for pair in found
        for name in along.get(pair.axis, segments)
        if name in pair.base.samples and name in pair.head.samples
    ]
    shifts = [stats.hodges_lehmann(ratios) if len(ratios) else None for _, _, ratios in rows]
    adjusted = iter(stats.holm([shift.p for shift in shifts if shift is not None]))
    return tuple(
        _compared(pair, name, ratios, shift, None if shift is None else next(adjusted))
        for (pair, name, ratios), shift in zip(rows, shifts, strict=True)
    )


def log_ratios(base: Sample, head: Sample) -> NDArray[np.float64]:
    """log(head/base) of the medians of each round that both sides have."""
    ours, theirs = by_round(base), by_round(head)
    both = sorted(ours.keys() & theirs.keys())
    return np.array(
        [math.log(theirs[r]) - math.log(ours[r]) for r in both if theirs[r] > 0 < ours[r]]
    )


def rounds_wanted(comparisons: int, *, level: float = 0.05) -> int:
    """The fewest rounds in which so many comparisons at once can be told apart at all.

    The smallest two-sided p of n signed ranks is 2^(1−n); Holm multiplies it by their number.
    """
    return max(FEWEST_ROUNDS, math.ceil(1 + math.log2(max(1, comparisons) / level)))


def break_even(pair: Pair, setup: Verdict, call: Verdict) -> BreakEven | None:
    """Where the costs of n calls, setup + n · call at the medians, cross.

    `setup` and `call` are the verdicts on the two: a difference that was not shown is none.
    None where a side has no setup or no call.
    """
    if any(name not in side.samples for side in pair[1:3] for name in ("setup", "call")):
        return None
    setup_ns = _gap(pair, "setup") if setup in SHOWN else 0
    call_ns = _gap(pair, "call") if call in SHOWN else 0
    if setup_ns * call_ns >= 0:
        total = setup_ns or call_ns
        cheaper = pair.base if total > 0 else pair.head
        return BreakEven(None, cheaper.cell if total else None)
    dearer_setup = pair.head if setup_ns > 0 else pair.base
    return BreakEven(math.ceil(abs(setup_ns / call_ns)), dearer_setup.cell)


def _compared(
    pair: Pair,
    segment: str,
    ratios: NDArray[np.float64],
    shift: Shift | None,
    p_adjusted: float | None,
) -> Compared:
    verdict: Verdict = "cannot tell"
    if shift is not None and p_adjusted is not None and len(ratios) >= FEWEST_ROUNDS:
        verdict = stats.verdict(shift, p_adjusted, level=LEVEL)
    seen = power.detectable(ratios) if len(ratios) >= FEWEST_ROUNDS else None
    return Compared(pair, segment, shift, p_adjusted, verdict, len(ratios), seen)


def differing(
    base: Mapping[str, str], head: Mapping[str, str], *, both: bool = False
) -> tuple[str, ...]:
    """The labels in which two cells are not alike; with `both`, of those that both have."""
    keys = [key for key in base if key in head] if both else [*{**base, **head}]
    return tuple(key for key in keys if base.get(key) != head.get(key))


def _seen_apart(axis: str, base: Side, head: Side) -> bool:
    seen = base.seen.get(axis), head.seen.get(axis)
    return None in seen or seen[0] != seen[1]


def by_round(sample: Sample, q: float = 0.5) -> dict[int, int]:
    """The q-quantile of each launch round, ns; of rounds that carry it (the median: of all)."""
    order = np.argsort(sample.round, kind="stable")
    rounds, starts = np.unique(sample.round[order], return_index=True)
    groups = np.split(sample.values[order], starts[1:])
    found = {
        int(number): stats.quantile(group, q) if len(group) else None
        for number, group in zip(rounds, groups, strict=True)
    }
    return {number: value for number, value in found.items() if value is not None}


def _gap(pair: Pair, segment: str) -> int:
    base, head = (side.samples[segment].values for side in (pair.base, pair.head))
    return stats.rank_quantile(head, 0.5) - stats.rank_quantile(base, 0.5)

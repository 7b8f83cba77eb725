"""HdrHistogram's percentile table (`.hgrm`) of the calls of one cell, made from its readings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from bench import seen
from bench.errors import UsageError
from bench.export.chosen import Chosen
from bench.report.figures import harmless

HEAD = f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}"
TICKS = 5
SEGMENT = "call"


def render(chosen: Chosen) -> str:
    """One distribution in ns; UsageError where a run has several cells, or this one no calls.

    No histogram lies between: every value is a reading, by nearest rank. The form is that of
    HdrHistogram's outputPercentileDistribution, five ticks per half distance.
    """
    if len(chosen.cells) != 1:
        names = ", ".join(cell.asked["cell"] for cell in chosen.cells)
        raise UsageError(f"hgrm holds one distribution; name one with --cell: {names}")
    (cell,) = chosen.cells
    samples = dict(seen.samples(cell))
    if SEGMENT not in samples or not len(samples[SEGMENT].values):
        raise UsageError(f"no call of {cell.asked['cell']} was ok: there is no distribution")
    ordered = sorted(int(value) for value in samples[SEGMENT].values)
    lines = [HEAD, "", *_rows(ordered), *_foot(ordered)]
    lines.append(f"#[Unit    =           ns, Cell           = {harmless(cell.asked['cell'])}]")
    return "\n".join(lines) + "\n"


def _rows(ordered: Sequence[int]) -> Iterator[str]:
    count = len(ordered)
    for level in _levels(count):
        value = ordered[max(1, math.ceil(level * count)) - 1]
        below = int(np.searchsorted(ordered, value, side="right"))
        share = float(level)
        yield f"{value:12.3f} {share:14.12f} {below:10d} {float(1 / (1 - level)):14.2f}"
    yield f"{ordered[-1]:12.3f} {1:14.12f} {count:10d}"


def _levels(count: int) -> Iterator[Fraction]:
    """From 0 towards 1, five steps for each halving of what is left, up to the last reading."""
    level = Fraction(0)
    while math.ceil(level * count) < count:
        yield level
        left = 1 / (1 - level)
        level += Fraction(1, TICKS * 2 ** (math.floor(math.log2(left)) + 1))
    yield level


def _foot(ordered: Sequence[int]) -> Iterator[str]:
    values = np.array(ordered, np.float64)
    yield f"#[Mean    = {values.mean():12.3f}, StdDeviation   = {values.std():12.3f}]"
    yield f"#[Max     = {ordered[-1]:12.3f}, Total count    = {len(ordered):12d}]"

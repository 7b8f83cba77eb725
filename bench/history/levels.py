"""Where the level of a series changes: steps, or a creep that no single commit explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench import stats
from bench.stats import NORMAL

Floats: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["step", "creep"]

FEWEST, FEWEST_FOR_CREEP = 6, 20  # points
SHORTEST_LEVEL = 3  # points
MIN_EFFECT = 0.02
LEAST_NOISE = 0.002  # of figures that repeat to the digit
NEIGHBOURS, NEIGHBOURS_OF_FEW = 7, 5
REACH = 3  # deviations from its neighbours at which a point is taken for an outlier
RECENT = 10  # points that a step is old when it is promised to be found


class Looked(NamedTuple):
    """What a series is made of: its kind of change, the first index of each new level, its noise.

    `noise` is the deviation of a point from its level, of logarithms; `penalty` what a change had
    to explain, in squared deviations.
    """

    kind: Kind | None
    starts: tuple[int, ...]
    noise: float
    penalty: float


def look(values: Sequence[int], *, judged: int = 1) -> Looked:
    """Steps and creep of a series of positive figures, of which `judged` are looked at together.

    Least squares with a price for each change (optimal partitioning: Jackson et al. 2005) on
    logarithms, in deviations: from the median difference of neighbours, and widened where what
    is left of the levels is correlated. A point far from the median of its neighbours is moved up
    to it first, so that one outlier, or a few apart, are no level. A line explains more than
    levels at the price of one change: that is a creep. Below 6 points nothing is found.
    """
    logs = np.log(np.asarray(values, np.float64))
    penalty = _penalty(len(logs), judged)
    if len(logs) < FEWEST:
        return Looked(None, (), 0.0, penalty)
    noise = _noise(logs)
    calm = _calmed(logs, noise) / noise
    starts = _starts(calm, penalty)
    wider = _correlation(calm, starts)
    calm, noise = calm / wider, noise * wider
    starts = _starts(calm, penalty)
    if _creeps(calm, starts, penalty):
        return Looked("creep", (), noise, penalty)
    kept = _worth_saying(values, starts)
    return Looked("step" if kept else None, kept, noise, penalty)


def change(before: Sequence[int], after: Sequence[int]) -> float:
    """The ratio of two levels, by their medians."""
    return stats.rank_quantile(after, 0.5) / stats.rank_quantile(before, 0.5)


def apart(before: Sequence[int], after: Sequence[int], found: Looked) -> bool:
    """Whether two levels that are no neighbours differ by as much as a change must explain."""
    weight = len(before) * len(after) / (len(before) + len(after))
    return weight * (math.log(change(before, after)) / found.noise) ** 2 >= found.penalty


def detectable(found: Looked, points: int) -> float | None:
    """The smallest step, percent, that would have been found in 9 of 10 series like this one.

    Of a step that is 10 points old (or half the series, if that is less). None below 6 points.
    """
    if points < FEWEST:
        return None
    after = min(RECENT, points // 2)
    reach = math.sqrt(found.penalty) + NORMAL.inv_cdf(0.9)
    return 100 * math.expm1(reach * found.noise / math.sqrt(after * (points - after) / points))


def levels(values: Sequence[int], starts: Sequence[int]) -> list[Sequence[int]]:
    """The points of each level."""
    ends = (*starts, len(values))
    return [values[start:end] for start, end in zip((0, *starts), ends, strict=True)]


def _penalty(points: int, judged: int) -> float:
    """What a change must explain, in squared deviations, to be no chance.

    Fitted to clean series of 6 to 300 points: under 1 % of them have a change. Few points know
    their noise badly and pay more for it; a bound of so many at once multiplies the chances.
    """
    return 18 + 150 / max(points, 1) + 2 * math.log(max(judged, 1))


def _noise(logs: Floats) -> float:
    """From the median difference of neighbours: a step is in one of them only."""
    return max(1.4826 * float(np.median(np.abs(np.diff(logs)))) / math.sqrt(2), LEAST_NOISE)


def _calmed(logs: Floats, noise: float) -> Floats:
    width = NEIGHBOURS if len(logs) >= FEWEST_FOR_CREEP else NEIGHBOURS_OF_FEW
    medians = np.median(np.lib.stride_tricks.sliding_window_view(logs, width), axis=1)
    at = np.clip(np.arange(len(logs)) - width // 2, 0, len(medians) - 1)
    return np.clip(logs, medians[at] - REACH * noise, medians[at] + REACH * noise)


def _starts(calm: Floats, penalty: float) -> tuple[int, ...]:
    import ruptures  # here: loading it takes longer than `--help` may take

    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST_LEVEL)
    *starts, _ = search.fit(calm.reshape(-1, 1)).predict(pen=penalty)
    return tuple(int(start) for start in starts)


def _correlation(calm: Floats, starts: Sequence[int]) -> float:
    """By how much correlated points let levels wander more than independent ones: a factor."""
    if len(calm) < FEWEST_FOR_CREEP:
        return 1.0
    left = _left(calm, starts)
    energy = float(left @ left)
    share = max(0.0, float(left[1:] @ left[:-1]) / energy) if energy else 0.0
    return math.sqrt((1 + share) / (1 - share))


def _left(calm: Floats, starts: Sequence[int]) -> Floats:
    return np.concatenate([part - part.mean() for part in np.split(calm, list(starts))])


def _creeps(calm: Floats, starts: Sequence[int], penalty: float) -> bool:
    if len(calm) < FEWEST_FOR_CREEP:
        return False
    time = np.arange(len(calm)) - (len(calm) - 1) / 2
    centred = calm - calm.mean()
    line = centred - (time @ centred) / (time @ time) * time
    costs = [float(left @ left) for left in (line, centred, _left(calm, starts))]
    return costs[0] + penalty < min(costs[1], costs[2] + penalty * len(starts))


def _worth_saying(values: Sequence[int], starts: Sequence[int]) -> tuple[int, ...]:
    """Without the changes that are too small to be one, the smallest first."""
    kept = list(starts)
    while kept:
        parts = levels(values, kept)
        sizes = [abs(math.log(change(*pair))) for pair in pairwise(parts)]
        if min(sizes) >= math.log1p(MIN_EFFECT):
            break
        del kept[sizes.index(min(sizes))]
    return tuple(kept)

"""Numbers in, quantiles, intervals and verdicts out; one rule for each, and no I/O."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Readings: TypeAlias = Sequence[int] | Ints
Verdict: TypeAlias = Literal["slower", "faster", "same", "cannot tell"]

NORMAL = NormalDist()
TAIL = 0.025  # beyond either end of a 95 % interval
REPLICATES, GRID, EXACT_BLOCKS = 1000, 2048, 50


@dataclass(frozen=True)
class Described:
    """One sample, ns; None: not carried. low, high: `median_interval`; wants: n that p99 takes."""

    n: int
    launches: int
    min_ns: int | None
    max_ns: int | None
    mean_ns: int | None
    p50_ns: int | None
    low_ns: int | None
    high_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    wants: int


@dataclass(frozen=True)
class Shift:
    """Head against base over paired blocks: ratio, its 95 % interval, and the two-sided p."""

    ratio: float
    low: float | None
    high: float | None
    p: float


def describe(values: Readings, launch: Readings, *, seed: int) -> Described:
    """Figures of one sample of durations, ns, by launch id; min <= p50 <= p90 <= p99 <= max."""
    x = np.asarray(values, np.int64)
    low, high = median_interval(x, launch, seed=seed) or (None, None)
    return Described(
        n=len(x),
        launches=len(np.unique(np.asarray(launch, np.int64))),
        min_ns=int(x.min()) if len(x) else None,
        max_ns=int(x.max()) if len(x) else None,
        mean_ns=round(float(x.mean())) if len(x) else None,
        p50_ns=quantile(x, 0.5),
        low_ns=low,
        high_ns=high,
        p90_ns=quantile(x, 0.9),
        p99_ns=quantile(x, 0.99),
        wants=wants(0.99),
    )


def quantile(values: Readings, q: float) -> int | None:
    """The q-quantile by nearest rank; None below `wants(q)` readings, the median never."""
    fewest = 1 if q == 0.5 else wants(q)
    return rank_quantile(values, q) if len(values) >= fewest else None


def rank_quantile(values: Readings, q: float) -> int:
    """The smallest reading with at least a share q at or below it; of none, a ValueError.

    Nearest rank: definition 1 of Hyndman and Fan (1996), numpy's `inverted_cdf`; 0 <= q <= 1.
    """
    if not len(values) or not 0 <= q <= 1:
        raise ValueError(f"no quantile {q} of {len(values)} readings")
    place = max(int(_rank(np.array(len(values)), q)), 1) - 1
    return int(np.partition(np.asarray(values, np.int64), place)[place])


def _rank(n: Ints, q: float) -> Floats:
    return np.ceil(np.round(n * q, 6))  # 0.07 * 100 is 7.000000000000001, but its rank is 7


def wants(q: float) -> int:
    """The fewest readings from which a two-sided 95 % interval of the q-quantile is finite.

    Smallest n with max(q, 1 - q)^n <= 0.025, as in `scipy.stats.quantile_test`; 0 < q < 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"no sample bounds the quantile {q}")
    return math.ceil(math.log(TAIL) / math.log(max(q, 1 - q)))


def median_interval(
    values: Readings, launch: Readings, *, q: float = 0.5, seed: int
) -> tuple[int, int] | None:
    """The 95 % interval of the q-quantile, ns; None below `wants(q)` readings.

    `values` and `launch` (ids) pair up, or it is a ValueError. From 5 launches: expanded
    percentiles (Hesterberg 2015) of a bootstrap of launches, then of calls within. 2 to 4, whose
    percentiles cannot reach 95 %: quantile ± Student's t of that bootstrap, which is wide. 1:
    order statistics as in `scipy.stats.quantile_test`, which say nothing of other launches.
    """
    x, ids = np.asarray(values, np.int64), np.asarray(launch, np.int64)
    if len(x) != len(ids):
        raise ValueError(f"{len(x)} readings, but {len(ids)} launch ids")
    if len(x) < wants(q):
        return None
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order])) + 1
    groups = [np.sort(group) for group in np.split(x[order], starts)]
    if len(groups) == 1:
        return _call_interval(groups[0], q)
    return _launch_interval(_replicates(groups, q, seed), rank_quantile(x, q), len(groups))


def _call_interval(ordered: Ints, q: float) -> tuple[int, int]:
    from scipy.special import bdtrik  # here: loading it takes longer than `--help` may take

    low, high = (math.ceil(float(bdtrik(p, len(ordered), q))) for p in (TAIL, 1 - TAIL))
    return int(ordered[low - 1]), int(ordered[high])


def _launch_interval(replicates: Ints, centre: int, launches: int) -> tuple[int, int]:
    from scipy.special import stdtrit

    reach = math.sqrt(launches / (launches - 1)) * float(stdtrit(launches - 1, 1 - TAIL))
    if launches < 5:
        margin = math.ceil(reach * float(replicates.std()))
        return max(centre - margin, 0), centre + margin
    place = int(len(replicates) * NORMAL.cdf(-reach))
    return min(int(replicates[place]), centre), max(int(replicates[-1 - place]), centre)


def _replicates(groups: list[Ints], q: float, seed: int) -> Ints:
    """Sorted q-quantiles of resamples of launches, then of the calls within them.

    Of m calls drawn, Binomial(m, F(x)) are at or below x. So none is drawn: w draws of a launch
    add w times its mean and variance, one normal deviate moves the sum, and the quantile is
    the x where that count reaches the rank: by bisection over evenly spaced readings of each.
    """
    draw, launches = np.random.default_rng(seed), len(groups)
    sizes = np.array([len(group) for group in groups])
    step = math.ceil(sizes.sum() / GRID)  # with staggered starts, so that like launches differ
    offered = [group[i * step // launches :: step] for i, group in enumerate(groups)]
    grid = np.sort(np.concatenate([*offered, [max(group[-1] for group in groups)]]))
    below = np.array([np.searchsorted(group, grid, side="right") for group in groups]).T
    weights = draw.multinomial(launches, np.full(launches, 1 / launches), REPLICATES)
    deviate, rank = draw.standard_normal(REPLICATES), _rank(weights @ sizes, q) - 0.5
    low, high = np.zeros(REPLICATES, np.int64), np.full(REPLICATES, len(grid) - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        counts = weights * below[middle]
        deviation = np.sqrt((counts * (1 - below[middle] / sizes)).sum(axis=1))
        enough = counts.sum(axis=1) + deviate * deviation >= rank
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return np.sort(grid[low])


def modes(values: Readings) -> tuple[int, ...]:
    """The median, ns, of each clearly separated heap of readings, ascending; () of none.

    Density of the logarithms, Gaussian kernel of 0.9 σ n^(-1/5) (Silverman 1986), at least 2 %.
    Heaps part at valleys up to 0.4 of the lower top, hold 5 % and 5 readings, and are split again.
    """
    x = np.sort(np.asarray(values, np.int64))
    if not len(x):
        return ()
    logs = np.log(x.clip(1))
    sigma = float(np.ptp(np.quantile(logs, (0.05, 0.95), method="inverted_cdf"))) / 3.29
    width = max(0.9 * sigma * len(x) ** -0.2, 0.02)
    bins = ((logs - logs[0]) * 4 / width).astype(np.int64)
    kernel = np.exp(-(np.linspace(-3, 3, 25) ** 2) / 2)
    cuts = _valleys(np.convolve(np.bincount(bins), kernel)[12:-12], bins)
    heaps = np.split(x, np.searchsorted(bins, cuts))
    return tuple(at for heap in heaps for at in modes(heap)) if cuts else (rank_quantile(x, 0.5),)


def _valleys(density: Floats, bins: Ints) -> list[int]:
    rising = np.diff(density, prepend=0, append=0) > 0
    tops = np.flatnonzero(rising[:-1] & ~rising[1:])
    cuts = [int(a + density[a:b].argmin()) for a, b in pairwise(tops)]
    while cuts:
        tops = np.array([heap.max() for heap in np.split(density, cuts)])
        small = np.diff([0, *np.searchsorted(bins, cuts), len(bins)]) < max(5, 0.05 * len(bins))
        doubt = density[cuts] / np.minimum(tops[:-1], tops[1:]) + (small[:-1] | small[1:])
        if doubt.max() <= 0.4:
            break
        del cuts[int(doubt.argmax())]
    return cuts


def hodges_lehmann(log_ratios: Floats) -> Shift:
    """The shift between two sides that ran in the same blocks, one log ratio per block.

    Pass `np.log(head_ns) - np.log(base_ns)`, which swapping the sides negates exactly. Ratio:
    median of the Walsh averages; interval: those at the signed-rank quantile, None below 6 blocks
    (Hollander and Wolfe, ch. 3). p: Wilcoxon signed rank, zeros dropped, mid-ranks for ties. Exact
    to 50 blocks, then normal. No blocks, or a log that is not finite, is a ValueError.
    """
    x = np.asarray(log_ratios, dtype=np.float64)
    if not len(x) or not np.all(np.isfinite(x)):
        raise ValueError(f"{len(x)} blocks, of which not all have a finite log ratio")
    walsh = np.sort(walsh_averages(x))
    centre, p = _ratio(float(np.median(walsh))), _signed_rank_p(x[x != 0])
    outside = walsh_outside(len(x), 2 * TAIL)
    if outside < 0:
        return Shift(centre, None, None, p)
    return Shift(centre, _ratio(float(walsh[outside])), _ratio(float(walsh[-1 - outside])), p)


def walsh_averages(x: Floats) -> Floats:
    """The averages of any two values, a value with itself too, along the last axis."""
    first, second = np.triu_indices(x.shape[-1])
    averages: Floats = (x[..., first] + x[..., second]) / 2
    return averages


def walsh_outside(blocks: int, level: float) -> int:
    """How many Walsh averages lie beyond either end of an interval of 1 - level; -1: it has none.

    The signed-rank test at that level shows a shift just where 0 lies beyond an end.
    """
    below = _null_signed_rank(2 * np.arange(1, blocks + 1))
    return (int(np.searchsorted(below, level / 2, side="right")) - 1) // 2


def _ratio(x: float) -> float:
    return math.exp(x) if x >= 0 else 1 / math.exp(-x)  # exp(-x) may miss 1 / exp(x) by a bit


def _signed_rank_p(x: Floats) -> float:
    _, which, counts = np.unique(np.abs(x), return_inverse=True, return_counts=True)
    twice_ranks = (2 * np.cumsum(counts) - counts + 1)[which]
    lesser = min(int(twice_ranks[x > 0].sum()), int(twice_ranks[x < 0].sum()))
    return min(1.0, 2 * float(_null_signed_rank(twice_ranks)[lesser]))


def _null_signed_rank(twice_ranks: Ints) -> Floats:
    """Chance of at most each sum of doubled ranks, every rank in or out with one half."""
    if len(twice_ranks) > EXACT_BLOCKS:
        total, deviation = int(twice_ranks.sum()), math.sqrt((twice_ranks**2).sum()) / 2
        return np.array([NORMAL.cdf((at + 1 - total / 2) / deviation) for at in range(total + 1)])
    chances = np.ones(1)
    for rank in twice_ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return np.cumsum(chances)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for their number, in the order given (Holm 1979, step down)."""
    adjusted, worst = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = worst
    return adjusted


def verdict(
    shift: Shift, p_adjusted: float, *, min_effect: float = 0.02, level: float = 0.01
) -> Verdict:
    """What the blocks say of head against base; it takes both size and evidence.

    `same`: the interval lies within the minimum effect. `slower`: p below level, and a slow-down
    of the minimum effect is not excluded: to ask that the estimate reach it would miss a shift of
    just that size half the time. `faster`: the mirror image.
    """
    least, most = 1 / (1 + min_effect), 1 + min_effect
    low, high = shift.low or 0.0, shift.high or math.inf
    if least <= low and high <= most:
        return "same"
    if p_adjusted < level and (low > 1 or high < 1):
        return "slower" if shift.ratio > 1 else "faster"
    return "cannot tell"

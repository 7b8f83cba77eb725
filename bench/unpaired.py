"""Two groups of launches that shared no block: how far apart they are, and on what evidence."""

from __future__ import annotations

import math

import numpy as np

from bench.stats import NORMAL, TAIL, Floats, Ints, Shift

EXACT_LAUNCHES = 60  # of both sides together; beyond, the rank sum is as good as normal


def shift(base: Floats, head: Floats) -> Shift:
    """How far the logs of `head` lie from those of `base`, one log a launch.

    Ratio: median of all differences (Hodges and Lehmann 1963); interval: those at the rank-sum
    quantile, None below 4 launches a side (Moses; Hollander and Wolfe, ch. 4). p: Wilcoxon rank
    sum, mid-ranks for ties, exact over permutations up to 60 launches. Swapping the sides negates.
    A side without launches, or a log that is not finite, is a ValueError.
    """
    if not len(base) or not len(head) or not np.all(np.isfinite(np.concatenate([base, head]))):
        raise ValueError(f"{len(base)} and {len(head)} launches, not all with a finite log")
    apart = np.sort(np.subtract.outer(head, base).ravel())
    centre, p = _ratio(float(np.median(apart))), _rank_sum_p(base, head)
    below = _null_rank_sum(2 * np.arange(1, len(base) + len(head) + 1), len(head))
    least = len(head) * (len(head) + 1)
    outside = (int(np.searchsorted(below, TAIL, side="right")) - 1 - least) // 2
    if outside < 0:
        return Shift(centre, None, None, p)
    return Shift(centre, _ratio(float(apart[outside])), _ratio(float(apart[-1 - outside])), p)


def detectable(
    base: Floats, head: Floats, *, power: float = 0.9, level: float = 0.05
) -> float | None:
    """The smallest shift, percent, that so many launches with this scatter show with this power.

    Normal rank-sum test with its asymptotic efficiency of 3/π; scatter: Shamos (1976) of both
    sides. None below 4 launches a side. What sets whole runs apart is not in it.
    """
    if min(len(base), len(head)) < launches_wanted(1, level=level):
        return None
    reach = (NORMAL.inv_cdf(1 - level / 2) + NORMAL.inv_cdf(power)) * math.sqrt(math.pi / 3)
    scatter = 1.0483 * float(np.median(np.concatenate([_gaps(base), _gaps(head)])))
    return 100 * math.expm1(reach * scatter * math.sqrt(1 / len(base) + 1 / len(head)))


def launches_wanted(comparisons: int, *, level: float = 0.05) -> int:
    """The fewest launches a side with which so many comparisons at once can be told at all.

    The smallest two-sided p of n against n is 2 / C(2n, n); Holm multiplies it by their number.
    """
    launches = 1
    while 2 * max(1, comparisons) / math.comb(2 * launches, launches) >= level:
        launches += 1
    return launches


def _gaps(x: Floats) -> Floats:
    first, second = np.triu_indices(len(x), 1)
    return np.abs(x[first] - x[second])


def _ratio(x: float) -> float:
    return math.exp(x) if x >= 0 else 1 / math.exp(-x)


def _rank_sum_p(base: Floats, head: Floats) -> float:
    _, which, counts = np.unique(
        np.concatenate([base, head]), return_inverse=True, return_counts=True
    )
    twice_ranks = (2 * np.cumsum(counts) - counts + 1)[which]
    theirs, ours = (int(part.sum()) for part in np.split(twice_ranks, [len(base)]))
    low = float(_null_rank_sum(twice_ranks, len(head))[ours])
    high = float(_null_rank_sum(twice_ranks, len(base))[theirs])  # ours at least as large
    return min(1.0, 2 * min(low, high))


def _null_rank_sum(twice_ranks: Ints, size: int) -> Floats:
    """Chance of at most each sum of `size` doubled ranks, drawn at random without returning."""
    total, launches = int(twice_ranks.sum()), len(twice_ranks)
    if launches > EXACT_LAUNCHES:
        centre, other = size * total / launches, launches - size
        spread = float(((twice_ranks - total / launches) ** 2).sum())
        deviation = math.sqrt(size * other * spread / (launches * (launches - 1))) or 1.0
        return np.array([NORMAL.cdf((at + 1 - centre) / deviation) for at in range(total + 1)])
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1
    for rank in twice_ranks:
        ways[1:, rank:] += ways[:-1, : total + 1 - rank].copy()
    return np.cumsum(ways[size]) / math.comb(launches, size)

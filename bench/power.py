"""What so many blocks of so much noise can show: the smallest shift, and the blocks for one."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from bench.stats import Floats

NORMAL = NormalDist()


def detectable(log_ratios: Floats, *, power: float = 0.9, level: float = 0.05) -> float | None:
    """The smallest shift, percent, that n blocks with this noise show with this power.

    (z + z[power]) σ / sqrt(3/π (n - z²/2)), z at 1 - level/2: normal signed-rank test, asymptotic
    efficiency, Guenther's (1981) small-sample term; σ: `noise`. None below 6 blocks (at 5 %).
    """
    return detectable_in(len(log_ratios), noise(log_ratios), power=power, level=level)


def detectable_in(n: int, sigma: float, *, power: float = 0.9, level: float = 0.05) -> float | None:
    """The same for n blocks of a known noise (σ of a log ratio)."""
    reach, spent, fewest = _needs(power, level)
    if n < max(fewest, spent + 1):
        return None
    return 100 * math.expm1(reach * sigma / math.sqrt(n - spent))


def blocks_wanted(
    log_ratios: Floats, effect: float, *, power: float = 0.9, level: float = 0.05
) -> int:
    """How many blocks show a shift of `effect` (0.02: 2 %): `detectable`, inverted."""
    reach, spent, fewest = _needs(power, level)
    effective = (reach * noise(log_ratios) / math.log1p(effect)) ** 2
    return max(fewest, math.ceil(effective + spent))


def _needs(power: float, level: float) -> tuple[float, float, int]:
    """Standard errors a shift must span, blocks lost to a small sample, fewest blocks of all."""
    z = NORMAL.inv_cdf(1 - level / 2)
    reach = (z + NORMAL.inv_cdf(power)) * math.sqrt(math.pi / 3)
    return reach, z**2 / 2, math.floor(2 - math.log2(level))


def noise(x: Floats) -> float:
    """σ of normal noise from the median distance of two blocks (Shamos 1976); 0 for one block."""
    first, second = np.triu_indices(len(x), 1)
    return 1.0483 * float(np.median(np.abs(x[first] - x[second]))) if len(first) else 0.0

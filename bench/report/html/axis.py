"""An axis of a picture: values to places in percent, and the round values written on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

TICKS = 4  # that many words have room beside each other on a phone


class Axis(NamedTuple):
    """From `low` to `high`, of which a logarithmic one wants both positive."""

    low: float
    high: float
    logarithmic: bool = False

    def of(self, value: float) -> float:
        """The place of a value in percent, to a fiftieth of a pixel."""
        if self.logarithmic:
            way = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            way = (value - self.low) / (self.high - self.low)
        return round(100 * way, 3)

    def holds(self, value: float) -> bool:
        """Whether a value is on it."""
        return self.low <= value <= self.high


def round_values(axis: Axis) -> Iterator[float]:
    """About TICKS round values on the axis, ascending; the two ends where it holds too few."""
    found = list(_powers(axis) if axis.logarithmic else _multiples(axis))
    yield from found if len(found) > 1 else (axis.low, axis.high)


def _powers(axis: Axis) -> Iterator[float]:
    first = math.ceil(math.log10(axis.low) - 1e-9)
    last = math.floor(math.log10(axis.high) + 1e-9)
    step = max(1, -(-(last - first + 1) // TICKS))
    for power in range(first, last + 1, step):
        yield 10.0**power


def _multiples(axis: Axis) -> Iterator[float]:
    rough = (axis.high - axis.low) / TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough * (1 - 1e-9))
    for count in range(math.ceil(axis.low / step), math.floor(axis.high / step) + 1):
        yield count * step

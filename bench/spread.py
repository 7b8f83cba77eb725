"""Where readings lie: the range of their main mass, and how many fall into each part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAIN_SHARE = 0.001  # so many of all values may lie beyond the axis; they are counted and named
STRETCH = 1.5
WIDE = 12  # from this factor on between its ends an axis is logarithmic
BINS = 96  # a multiple of the letters that a terminal has for them

Ns: TypeAlias = NDArray[np.int64]


class Main(NamedTuple):
    """The range of the main mass, whether it wants a logarithmic axis, and what lies beyond."""

    low_ns: int
    high_ns: int
    logarithmic: bool
    above: int
    max_ns: int


def main_mass(values: Sequence[Ns]) -> Main:
    """The range that holds all but the largest thousandth of all values, the same for each cell.

    A rare value would flatten the rest to one bar; `above` and `max_ns` say how many there are and
    the largest, so that none is lost. Those that make the range no more than STRETCH times as long
    flatten nothing and stay. Two modes far apart both stay in, on a logarithmic axis.
    """
    whole = np.concatenate(values)
    last = len(whole) - int(MAIN_SHARE * len(whole)) - 1
    low, most = int(whole.min()), int(whole.max())
    near = low + STRETCH * (int(np.partition(whole, last)[last]) - low)
    high = int(whole[whole <= near].max())
    above = int((whole > high).sum())
    return Main(low, high, low > 0 and high >= WIDE * low, above, most)


def edges(main: Main, bins: int = BINS) -> Ns:
    """The ends of so many parts of the range in whole ns, each at least 1 ns wide."""
    high = max(main.high_ns, main.low_ns + bins)
    space = np.geomspace if main.logarithmic else np.linspace
    found: Ns = np.round(space(main.low_ns, high, bins + 1)).astype(np.int64)
    return np.maximum(found, main.low_ns + np.arange(bins + 1))


def document(segment: str, samples: Mapping[str, Ns]) -> dict[str, Any]:
    """The readings of a segment, cell by cell, counted in the same parts of one axis.

    `counts[i]` are the readings from `edges_ns[i]` up to `edges_ns[i + 1]`; `above` lie beyond the
    last edge, up to `max_ns`. `samples` maps the name of a cell to its readings in ns, at least one
    in all.
    """
    main = main_mass(list(samples.values()))
    ends = edges(main)
    return {
        "segment": segment,
        "logarithmic": main.logarithmic,
        "edges_ns": ends.tolist(),
        "cells": [_counted(cell, values, ends) for cell, values in samples.items()],
    }


def _counted(cell: str, values: Ns, ends: Ns) -> dict[str, Any]:
    counts, _ = np.histogram(values, ends)
    return {
        "cell": cell,
        "n": len(values),
        "counts": counts.tolist(),
        "above": int((values > ends[-1]).sum()),
        "max_ns": int(values.max()),
    }

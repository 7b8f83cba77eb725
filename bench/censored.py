"""Figures of a sample some of whose readings were cut off at a limit: beyond it, not absent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import stats
from bench.comparison import Sample

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def figures(sample: Sample) -> dict[str, Any]:
    """The figures of `segments` in a summary, with `censored` readings and what lies over them.

    `over_ns` has the quantiles of which is known only that they are larger, with the least that
    they are, ns. A censored reading ranks behind all others: it is neither dropped nor taken for
    its limit. Mean, maximum and interval cannot be known.
    """
    ordered = np.sort(sample.values)
    count = len(ordered) + len(sample.over)
    ranks = {name: max(1, math.ceil(round(count * q, 6))) for name, q in QUANTILES.items()}
    beyond = [name for name, rank in ranks.items() if rank > len(ordered)]
    least_ns = int(sample.over.min())
    return {
        "n": count,
        **{f"{name}_ns": _at(ordered, rank, name, count) for name, rank in ranks.items()},
        "low_ns": None,
        "high_ns": None,
        "mean_ns": None,
        "min_ns": int(ordered[0]) if len(ordered) else None,
        "max_ns": None,
        "wants": stats.wants(QUANTILES["p99"]),
        "censored": len(sample.over),
        "over_ns": dict.fromkeys([*beyond, "max"], least_ns),
    }


def _at(ordered: np.ndarray[Any, Any], rank: int, name: str, count: int) -> int | None:
    """By nearest rank, as `stats.quantile` has it; None beyond the limit or what n carries."""
    carried = name == "p50" or count >= stats.wants(QUANTILES[name])
    return int(ordered[rank - 1]) if carried and rank <= len(ordered) else None

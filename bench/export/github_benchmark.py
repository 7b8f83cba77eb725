"""github-action-benchmark: one entry a cell, segment and quantile, for `customSmallerIsBetter`."""

from __future__ import annotations

import json
from typing import Any

from bench.export import quantiles
from bench.export.chosen import Chosen
from bench.export.quantiles import Quantile

NS_PER_UNIT, UNIT = 1_000, "us"


def render(chosen: Chosen) -> str:
    """A JSON array; the action refuses an empty one, so a run without calls is refused there."""
    entries = [_entry(each) for each in quantiles.of(chosen.document)]
    return json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _entry(each: Quantile) -> dict[str, Any]:
    known: dict[str, Any] = {
        "name": each.name,
        "unit": UNIT,
        "value": each.value_ns / NS_PER_UNIT,
        "extra": f"{each.n} readings in {each.launches} launches",
    }
    if each.low_ns is not None and each.high_ns is not None:
        reach_ns = max(each.value_ns - each.low_ns, each.high_ns - each.value_ns)
        # Three decimals always: the action's pattern takes no number of a single digit.
        known["range"] = f"± {reach_ns / NS_PER_UNIT:.3f}"
    return known

"""Bencher Metric Format: one benchmark a cell, segment and quantile, its `latency` in ns."""

from __future__ import annotations

import json

from bench.export import quantiles
from bench.export.chosen import Chosen
from bench.export.quantiles import Quantile


def render(chosen: Chosen) -> str:
    """JSON for `bencher run --adapter json`; `latency` is its built-in measure, in nanoseconds."""
    found = {each.name: {"latency": _metric(each)} for each in quantiles.of(chosen.document)}
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def _metric(each: Quantile) -> dict[str, int]:
    bounds = {"lower_value": each.low_ns, "upper_value": each.high_ns}
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"value": each.value_ns, **known}

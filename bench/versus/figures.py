"""The figures of cells that met: head against base, launch medians against launch medians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench import comparison, stats, summary, unpaired
from bench.comparison import Pair, Side
from bench.stats import Floats, Shift
from bench.versus.cells import Stored

# Runs that did not share a machine's minute drift apart by a few percent with no change at all.
MIN_EFFECT = 0.05
METRICS = (
    ("setup", 0.5),
    ("first_result", 0.5),
    ("call", 0.5),
    ("call", 0.9),
    ("work", 0.5),
    ("boundary", 0.5),
)


class Row(NamedTuple):
    """One metric of a pair of cells; `base` and `head` are logs, one a launch."""

    pair: Pair
    segment: str
    q: float
    base: Floats
    head: Floats


def compared(met: Sequence[Pair], base: Stored, head: Stored) -> list[dict[str, Any]]:
    """Each metric of each pair with its verdict, as if nothing but the subject had changed.

    p values are adjusted for all of them (Holm). A launch gives one reading of each metric: the
    quantile of its calls, where they carry it.
    """
    ours, theirs = ({c["cell"]: c for c in each.document["cells"]} for each in (base, head))
    rows = [
        row for pair in met for row in _rows(pair, [ours[pair.base.cell], theirs[pair.head.cell]])
    ]
    shifts = [unpaired.shift(row.base, row.head) for row in rows]
    adjusted = stats.holm([shift.p for shift in shifts])
    fewest = unpaired.launches_wanted(len(rows))
    return [
        _row(row, shift, p, fewest) for row, shift, p in zip(rows, shifts, adjusted, strict=True)
    ]


def _rows(pair: Pair, cells: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    sources = {cell["work_source"] for cell in cells}
    known = len(sources) == 1 and not sources & {None, "estimate"}
    narrow = summary.COMPARED_ALONG.get("client") if "client" in pair.also_differs else None
    for segment, q in METRICS:
        if segment in ("work", "boundary") and not known:
            continue
        if narrow is None or segment in narrow:
            logs = [_logs(side, segment, q) for side in pair[1:3]]
            if all(len(each) for each in logs):
                yield Row(pair, segment, q, *logs)


def _logs(side: Side, segment: str, q: float) -> Floats:
    if segment not in side.samples or not len(side.samples[segment].values):
        return np.zeros(0)
    found = comparison.by_round(side.samples[segment], q).values()
    return np.array([math.log(value) for value in found if value > 0])


def _row(row: Row, shift: Shift, p_adjusted: float, fewest: int) -> dict[str, Any]:
    low, high = (None if end is None else round(end, 4) for end in (shift.low, shift.high))
    verdict = stats.verdict(shift, p_adjusted, min_effect=MIN_EFFECT)
    quantiles = [stats.rank_quantile(s.samples[row.segment].values, row.q) for s in row.pair[1:3]]
    return {
        "axis": row.pair.axis or None,
        "base": row.pair.base.cell,
        "head": row.pair.head.cell,
        "segment": row.segment,
        "quantile": f"p{100 * row.q:.0f}",
        "base_ns": quantiles[0],
        "head_ns": quantiles[1],
        "ratio": round(shift.ratio, 4),
        "low": low,
        "high": high,
        "p_adjusted": p_adjusted,
        "verdict": verdict,
        "launches": [len(row.base), len(row.head)],
        "launches_wanted": max(fewest, _wanted(row, shift) if verdict == "cannot tell" else 0),
        "would_have_seen_percent": unpaired.detectable(row.base, row.head),
        "also_differs": list(row.pair.also_differs),
    }


def _wanted(row: Row, shift: Shift) -> int:
    """About how many launches a side would tell: the interval narrows with their square root."""
    launches = min(len(row.base), len(row.head))
    if shift.low is None or shift.high is None:
        return launches
    reach = max(math.log(shift.high / shift.ratio), math.log(shift.ratio / shift.low))
    needed = math.ceil(launches * (reach / math.log1p(MIN_EFFECT)) ** 2)
    return needed if needed > launches else 2 * launches

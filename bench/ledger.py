"""The typical call and the typical setup, taken apart so that the parts add up exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.segments import CALL, MISSING, SETUP, THINK, Stamps

CALL_PARTS = (*(segment.name for segment in CALL if segment.part_of == "call"), THINK)
SETUP_PARTS = (*(segment.name for segment in SETUP if segment.part_of == "setup"), "client")
MIDDLE = (0.4, 0.6)


def estimate(call_ns: int, floor_ns: int) -> dict[str, int]:
    """A call whose inside nothing tells: the floor stands for the boundary, the rest for work.

    Empty where the floor is the dearer one, which leaves nothing to tell apart.
    """
    if floor_ns > call_ns:
        return {}
    return {"call": call_ns, "boundary": floor_ns, "work": call_ns - floor_ns}


def typical(durations: Mapping[str, Stamps], whole: str, parts: Sequence[str]) -> dict[str, int]:
    """Mean ns of each part over the middle fifth of the rows by `whole`; empty without rows.

    Medians of parts do not sum to the median of the whole. Means over the rows around the median
    do: the parts sum to `whole` to the nanosecond, rounding put on the largest.
    """
    present = [part for part in parts if part in durations]
    if whole not in durations or not present:
        return {}
    table = np.stack([durations[part] for part in present])
    there = (durations[whole] != MISSING) & (table != MISSING).any(axis=0)
    there &= np.where(table == MISSING, 0, table).sum(axis=0) == durations[whole]
    if not there.any():
        return {}
    order = np.flatnonzero(there)[np.argsort(durations[whole][there], kind="stable")]
    first = int(MIDDLE[0] * len(order))
    rows = order[first : max(first + 1, int(np.ceil(MIDDLE[1] * len(order))))]
    values = np.where(table[:, rows] == MISSING, 0, table[:, rows])
    means = {part: round(float(row.mean())) for part, row in zip(present, values, strict=True)}
    total = round(float(durations[whole][rows].mean()))
    largest = max(means, key=lambda part: means[part])
    means[largest] += total - sum(means.values())
    return {whole: total, **{part: value for part, value in means.items() if value}}

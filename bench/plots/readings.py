"""The readings that a picture shows: durations of the steady calls, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from bench import segments
from bench.frames import LoadedRun
from bench.spread import Ns

POINTS = tuple(sorted({point for one in segments.CALL for point in (one.start, one.end)}))


def steady(run: LoadedRun, segment: str) -> Mapping[str, Ns]:
    """Durations in ns of one call segment, per cell: the steady calls that were ok."""
    found = {}
    for cell, calls in by_cell(run):
        kept = calls[(calls["phase"] == "steady") & (calls["outcome"] == "ok")]
        values = durations(kept, segment)
        values = values[values != segments.MISSING]
        if len(values):
            found[cell] = values
    return found


def by_cell(run: LoadedRun) -> Iterator[tuple[str, pd.DataFrame]]:
    """The calls of each cell, in the order of the summary."""
    calls = run.calls
    for cell in run.summary()["cells"]:
        yield cell["cell"], calls[calls["cell"] == cell["cell"]]


def durations(calls: pd.DataFrame, segment: str) -> Ns:
    """The segment of each call, ns; MISSING where a stamp is missing."""
    stamps = {
        point: calls[f"{point}_ns"].fillna(segments.MISSING).to_numpy(np.int64)
        for point in POINTS
        if f"{point}_ns" in calls
    }
    found = segments.calls(stamps)
    return found.get(segment, np.full(len(calls), segments.MISSING))

"""What notebooks look at: the tables of a run and the verdicts of a history, as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bench import history, store, summary
from bench.report import wording


class LoadedRun:
    """A results folder read back; units stand in the column names, missing values are null.

    Integers are nullable integers, so that a stamp stays exact where others are missing.
    """

    def __init__(self, path: str | Path) -> None:
        self._run = store.read(path)

    @property
    def path(self) -> Path:
        """The results folder."""
        return self._run.path

    @property
    def status(self) -> str:
        """`complete`, `interrupted` or `incomplete`."""
        return self._run.status

    @property
    def calls(self) -> pd.DataFrame:
        """One row a call."""
        return _frame(self._run.call_table)

    @property
    def launches(self) -> pd.DataFrame:
        """One row a launch, with one `<segment>_ns` column for each setup segment."""
        return _frame(self._run.launch_table.drop_columns("details"))

    @property
    def messages(self) -> pd.DataFrame:
        """One row a message on the wire."""
        return _frame(self._run.message_table)

    @property
    def segments(self) -> pd.DataFrame:
        """One row a cell and segment: what the cell is, how many readings, and their figures, ns.

        Of a scenario of several steps each step has rows of its own; `step` is null for the whole.
        A quantile that the readings do not carry is null, and `wants` is how many it takes.
        """
        rows = list(_segments(self.summary()["cells"]))
        frame = pd.DataFrame(rows, columns=None if rows else [*WHO, "step", "segment", *FIGURES])
        return frame.astype(dict.fromkeys(FIGURES, pd.Int64Dtype()))

    def medians_ms(self, *segments: str) -> pd.DataFrame:
        """The medians in ms of these segments: one row a segment, one column a cell.

        Those that a cell cannot have are null; no segments: all that any cell has.
        """
        found = self.segments
        cells = {cell["cell"]: cell for cell in self.summary()["cells"]}
        names = segments or tuple(dict.fromkeys(found["segment"] if len(found) else ()))
        labels = wording.labels(list(cells))
        return pd.DataFrame(
            {
                labels[name]: [_median_ms(cell["segments"].get(each)) for each in names]
                for name, cell in cells.items()
            },
            index=pd.Index(names, name="p50, ms"),
            dtype="Float64",
        )

    def summary(self) -> dict[str, Any]:
        """The document of `mcp-latency report --format json`, made once."""
        return self._summary

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return summary.document(self._run)


def verdicts(path: str | Path) -> pd.DataFrame:
    """One row a series of a history: its verdict, and what changed since which run.

    `kind` is `step`, `creep` or null; `ratio` is now to before. Raises BenchError where there is
    no history.
    """
    series = history.check(Path(path))["series"]
    rows = [{key: each[key] for key in JUDGED} | _since(each["since"]) for each in series]
    return pd.DataFrame(rows, columns=[*JUDGED, "since_run", "since_commit"])


def _since(point: Mapping[str, Any] | None) -> dict[str, Any]:
    return {f"since_{key}": None if point is None else point[key] for key in ("run", "commit")}


JUDGED = ("cell", "segment", "quantile", "points", "verdict", "kind", "ratio")
WHO = ("cell", "server", "transport", "era", "protocol_version", "work_source")
FIGURES = (
    *("n", "p50_ns", "low_ns", "high_ns", "p90_ns", "p99_ns"),
    *("mean_ns", "min_ns", "max_ns", "wants"),
)


def _segments(cells: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        who = {key: cell[key] for key in WHO} | cell["variant"]
        steps = cell["steps"] if len(cell["steps"]) > 1 else []
        parts = [(None, cell["segments"]), *((step["step"], step["segments"]) for step in steps)]
        for step, found in parts:
            for name, figures in found.items():
                known = {key: figures[key] for key in FIGURES}
                yield who | {"step": step, "segment": name} | known


def _median_ms(figures: Mapping[str, Any] | None) -> float | None:
    return None if figures is None or figures["p50_ns"] is None else figures["p50_ns"] / 1e6


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame

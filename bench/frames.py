"""A run for notebooks: its tables as data frames, and its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bench import store, summary


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

    def summary(self) -> dict[str, Any]:
        """The document of `mcp-latency report --format json`."""
        return summary.document(self._run)


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame

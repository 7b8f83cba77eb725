"""What of a run is exported: its summary, its cells with their rows, and its verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench import seen, store, summary
from bench.errors import UsageError, nearest
from bench.seen import Seen
from bench.store import Run


class Chosen(NamedTuple):
    """A run as exporters take it: `document` is that of `report --format json`.

    `verdict` is the document of `ab --json`, None where the run compared nothing.
    """

    run: Run
    document: Mapping[str, Any]
    cells: tuple[Seen, ...]
    verdict: Mapping[str, Any] | None = None


def choose(folder: Path, *, cell: str | None = None) -> Chosen:
    """The run in a results folder, or one cell of it; UsageError where it has no such cell."""
    run = store.read(folder)
    if cell is not None:
        names = [asked["cell"] for asked in run.meta["cells"]]
        if cell not in names:
            raise UsageError(f'no cell "{cell}" in {folder}{nearest(cell, names)}')
        kept = [asked for asked in run.meta["cells"] if asked["cell"] == cell]
        run = dataclasses.replace(run, meta={**run.meta, "cells": kept})
    cells = tuple(seen.cell_of(run, asked) for asked in run.meta["cells"])
    return Chosen(run, summary.document(run), cells, store.verdict(folder))

"""A finished run to the points of its cells and segments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from bench import fingerprint, seen, summary
from bench.errors import BenchError
from bench.history.commits import Commit
from bench.history.points import Point
from bench.store import Run

FIGURES = ("p50_ns", "low_ns", "high_ns", "p90_ns", "p99_ns")
PARTS = ("work", "boundary")


def of(run: Run, commit: Commit) -> list[Point]:
    """The points of a run, a failed cell as one of its call; BenchError where none has figures."""
    if run.status != "complete":
        raise BenchError(f"{run.path} is {run.status}: only a complete run becomes history")
    document = summary.document(run)
    cells = {cell["cell"]: cell for cell in document["cells"]}
    if not any("call" in cell["segments"] for cell in cells.values()):
        raise BenchError(f"{run.path} has no figures: nothing was added")
    host = document["host"]
    head: dict[str, Any] = {
        "run": run.path.resolve().name,
        "added": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit.name,
        "commit_time": commit.time,
        "host_class": fingerprint.host_class(host),
    }
    versions = {**host.get("versions", {}), "system": str(host.get("system", "unknown"))}
    made: list[Point] = []
    for asked in run.meta["cells"]:
        server = seen.server(seen.cell_of(run, asked))
        known = {**versions, "server": server} if server else versions
        conditions = _conditions(run, asked, cells[asked["cell"]])
        for row in _rows(cells[asked["cell"]], conditions):
            made.append(Point(**head, versions=known, **row))
    return made


def _conditions(run: Run, asked: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, str]:
    return {
        **cell["variant"],
        "protocol_version": cell["protocol_version"] or "none",
        "placement": fingerprint.placement(run.meta),
        "asked": fingerprint.digest(fingerprint.question(run.meta, asked["scenario"])),
    }


def _rows(cell: Mapping[str, Any], conditions: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    error = summary.failure(cell) or None
    launches = cell["launches"]
    for segment, found in cell["segments"].items():
        source = {"work_source": str(cell["work_source"])} if segment in PARTS else {}
        yield {
            "cell": cell["cell"],
            "segment": segment,
            "conditions": {**conditions, **source},
            "n": found["n"],
            "launches": launches,
            **{name: found[name] for name in FIGURES},
            "error": error,
        }
    if "call" not in cell["segments"]:
        yield {
            "cell": cell["cell"],
            "segment": "call",
            "conditions": conditions,
            "n": 0,
            "launches": launches,
            **dict.fromkeys(FIGURES),
            "error": error,
        }

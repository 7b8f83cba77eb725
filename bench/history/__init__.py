"""Runs over commits: one line a cell and segment in `history.jsonl`, its steps and its creep."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench import store
from bench.errors import COULD_NOT, FINE, SLOWER, UsageError, nearest
from bench.history import commits, file, judged, lines
from bench.history.points import Point

CODES: Mapping[str, int] = {"slower": SLOWER, "cannot tell": COULD_NOT}


def add(path: Path, run: Path, *, commit: str | None = None) -> dict[str, Any]:
    """Append the lines of a finished run; BenchError where it is there already or has no figures.

    `commit` is a name that git knows here, or a hash; None: what is checked out, if anything.
    """
    made = lines.of(store.read(run), commits.named(commit))
    before = file.append(path, made)
    runs = {point.run for point in before if point.host_class == made[0].host_class}
    return {
        "format": store.FORMAT,
        "file": str(path),
        "run": made[0].run,
        "commit": made[0].commit,
        "host_class": made[0].host_class,
        "lines": len(made),
        "failed": sorted({point.cell for point in made if point.error}),
        "runs_before": len(runs),
    }


def check(path: Path, *, cell: str | None = None, since: str | None = None) -> dict[str, Any]:
    """What `history check --json` prints: the series of the newest runs, each with its verdict.

    `since` leaves out what came before a commit, whose level is then accepted. BenchError where
    there is no history, UsageError where it does not know the cell or the commit.
    """
    points, torn = file.read(path)
    cells = {point.cell for point in points}
    if cell is not None and cell not in cells:
        raise UsageError(f'no cell "{cell}" in {path}{nearest(cell, cells)}')
    return {**judged.document(_from(points, since), cell), "file": str(path), "torn": torn}


def code(found: Mapping[str, Any]) -> int:
    """The exit code of a check."""
    return CODES.get(found["verdict"], FINE)


def _from(points: list[Point], since: str | None) -> list[Point]:
    """The points in order of their commits, from one on."""
    ordered = sorted(points, key=lambda point: point.commit_time or point.added)
    if since is None:
        return ordered
    known = (at for at, point in enumerate(ordered) if (point.commit or "").startswith(since))
    start = next(known, None)
    if start is None:
        raise UsageError(f'--since "{since}": the history has no run of that commit')
    return ordered[start:]


def _add(options: Namespace) -> tuple[dict[str, Any], int]:
    return add(options.file, options.run, commit=options.commit), FINE


def _check(options: Namespace) -> tuple[dict[str, Any], int]:
    found = check(options.file, cell=options.cell, since=options.since)
    return found, code(found)


def _show(options: Namespace) -> tuple[dict[str, Any], int]:
    return _check(options)[0], FINE


ACTIONS: Mapping[str, Callable[[Namespace], tuple[dict[str, Any], int]]] = {
    "add": _add,
    "check": _check,
    "show": _show,
}

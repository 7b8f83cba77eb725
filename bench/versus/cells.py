"""The cells of two stored runs: which of them meet, and what else sets them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import comparison, fingerprint, seen, store, summary
from bench.comparison import IMPLIED, Pair, Side
from bench.fingerprint import Difference
from bench.store import Run


class Stored(NamedTuple):
    """One of the two runs: its folder read back, its summary, and its cells by name."""

    run: Run
    document: Mapping[str, Any]
    sides: Mapping[str, Side]
    servers: Mapping[str, str]


def stored(path: Path | str) -> Stored:
    """A results folder as a side of a comparison; BenchError where it is none."""
    run = store.read(path)
    cells = [seen.cell_of(run, asked) for asked in run.meta["cells"]]
    sides = {cell.asked["cell"]: summary.side_of(cell) for cell in cells}
    servers = {cell.asked["cell"]: seen.server(cell) for cell in cells}
    return Stored(run, summary.document(run), sides, servers)


def pairs(base: Stored, head: Stored, axis: str | None) -> list[Pair]:
    """Cells of one name; along an axis those that differ in it alone; or the only two there are."""
    if axis is not None:
        both = ((ours, theirs) for ours in base.sides.values() for theirs in head.sides.values())
        return [
            _pair(ours, theirs, axis)
            for ours, theirs in both
            if comparison.differing(ours.labels, theirs.labels, both=True) == (axis,)
        ]
    same = [name for name in base.sides if name in head.sides]
    if not same and len(base.sides) == len(head.sides) == 1:
        return [_pair(next(iter(base.sides.values())), next(iter(head.sides.values())), "")]
    return [_pair(base.sides[name], head.sides[name], "") for name in same]


def _pair(base: Side, head: Side, axis: str) -> Pair:
    """`also_differs`: every label, asked for or seen, that the axis does not imply."""
    asked = comparison.differing(base.labels, head.labels, both=True)
    implied = {axis}.union(*(IMPLIED.get(label, ()) for label in (axis, *asked)))
    found = (*asked, *comparison.differing(base.seen, head.seen, both=True))
    return Pair(axis, base, head, tuple(x for x in dict.fromkeys(found) if x not in implied))


def differences(base: Stored, head: Stored, met: Sequence[Pair]) -> list[Difference]:
    """What the runs, and the cells that met, do not share; each once."""
    found = [*fingerprint.differences(base.run.meta, head.run.meta)]
    for pair in met:
        for what in pair.also_differs:
            values = [side.labels.get(what) or side.seen.get(what, "") for side in pair[1:3]]
            found.append(Difference(what, "client" if what == "client" else "factor", *values))
        servers = base.servers[pair.base.cell], head.servers[pair.head.cell]
        if servers[0] != servers[1]:
            found.append(Difference("server version", "noted", *servers))
    return list(dict.fromkeys(found))


def factors(met: Sequence[Pair], differs: Sequence[Difference]) -> list[str]:
    """What was varied, as far as anyone can tell; of two or more a ratio says nothing."""
    axes = [pair.axis for pair in met if pair.axis]
    return list(dict.fromkeys([*axes, *(d.what for d in differs if d.weight == "factor")]))

"""The blocks of a run that both sides came through, and what was read in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow.compute as pc

from bench import gate, seen
from bench.comparison import Sample
from bench.seen import Seen
from bench.store import Run

SAID_BY_SERVER = ("work", "boundary")


class Whole(NamedTuple):
    """Both sides' readings, ns, in the blocks in which both came to their end; `doubts` in words.

    A block that lost a side, or is under way, has readings of another number of calls.
    """

    base: Mapping[str, Sample]
    head: Mapping[str, Sample]
    blocks: int
    doubts: tuple[str, ...]


def of(run: Run) -> Whole:
    """What can be compared of a run of blocks; its first cell is the base."""
    base, head = (seen.cell_of(run, asked) for asked in run.meta["cells"])
    blocks = _ended(base) & _ended(head)
    ours, theirs = (gate.within(dict(seen.samples(cell)), blocks) for cell in (base, head))
    if seen.work_source(base) != seen.work_source(head):
        for samples in (ours, theirs):
            for name in SAID_BY_SERVER:
                samples.pop(name, None)
    return Whole(ours, theirs, len(blocks), tuple(_doubts(base, head)))


def _ended(cell: Seen) -> set[int]:
    ok = pc.equal(cell.launches["outcome"], "ok")
    return set(cell.launches.filter(ok)["round"].to_pylist())


def _doubts(base: Seen, head: Seen) -> Iterator[str]:
    """What sets the sides apart beside their speed."""
    sources = [seen.work_source(cell) or "nothing" for cell in (base, head)]
    if sources[0] != sources[1]:
        yield (
            f"work is told by {sources[0]} in base and by {sources[1]} in head, which do not mean "
            "the same: it is not compared"
        )
    versions = [seen.version(cell) for cell in (base, head)]
    if None not in versions and versions[0] != versions[1]:
        yield f"base agreed on protocol version {versions[0]}, head on {versions[1]}"

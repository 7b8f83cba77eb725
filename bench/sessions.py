"""The first session of each cell: its messages with their bodies, and the stamps of its server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bench import store
from bench.model import Message
from bench.store import Run

SHOWN_MESSAGES = 40
STAMPS = ("request_id", "read_ns", "entered_ns", "left_ns", "writing_ns")
FIELDS = ("at_ns", "direction", "kind", "bytes", "method", "id", "http_status")


class Session(NamedTuple):
    """One launch as a diagram shows it; `served` has the server's stamps of calls, by request id.

    `left_out` counts the later messages that are not here.
    """

    cell: str
    launch: int
    messages: Sequence[Message]
    left_out: int
    served: Mapping[str, Mapping[str, int]]


def of(run: Run) -> list[Session]:
    """The first launch of each cell that has one with messages, in the order of the cells."""
    firsts = [(asked["cell"], _first(run, asked["cell"])) for asked in run.meta["cells"]]
    wanted = {launch for _, launch in firsts if launch is not None}
    bodies = {
        (line["launch"], line["at_ns"], line["direction"]): line["body"]
        for line in store.transcript(run.path)
        if line["launch"] in wanted
    }
    return [
        _session(run, cell, launch=launch, bodies=bodies)
        for cell, launch in firsts
        if launch is not None
    ]


def _first(run: Run, cell: str) -> int | None:
    mine = run.message_table.filter(pc.equal(run.message_table["cell"], cell))
    first: int | None = pc.min(mine["launch"]).as_py()
    return first


def _session(
    run: Run, cell: str, *, launch: int, bodies: Mapping[tuple[int, int, str], str]
) -> Session:
    found = run.message_table.filter(pc.equal(run.message_table["launch"], launch))
    rows = found.sort_by("seq").slice(0, SHOWN_MESSAGES).select(FIELDS).to_pylist()
    messages = [
        Message(**row, body=bodies.get((launch, row["at_ns"], row["direction"]))) for row in rows
    ]
    calls = run.call_table.filter(pc.equal(run.call_table["launch"], launch))
    return Session(cell, launch, messages, len(found) - len(rows), _served(calls))


def _served(calls: pa.Table) -> dict[str, dict[str, int]]:
    whole = calls.select(STAMPS).slice(0, SHOWN_MESSAGES).to_pylist()
    return {
        str(row["request_id"]): {name: row[name] for name in STAMPS[1:]}
        for row in whole
        if None not in row.values()
    }

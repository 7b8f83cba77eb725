"""Trace events for Perfetto: client and server of each launch as processes, messages on a track."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.export import tracks
from bench.export.chosen import Chosen
from bench.export.tracks import Track
from bench.report.figures import harmless

NS_PER_US = 1_000
ARROWS = {"out": "→", "in": "←"}
PIDS_PER_LAUNCH, TIDS_PER_PID, MESSAGES_TID = 2, 1_000, 1


def render(chosen: Chosen) -> str:
    """The Chrome trace event format, which ui.perfetto.dev and chrome://tracing open.

    Slices are begin and end events: neighbours share a stamp, and stay neighbours however a reader
    rounds it. Times are µs since the run's first stamp, to the nanosecond.
    """
    found = list(tracks.of(chosen.cells))
    messages = {cell.asked["cell"]: _messages(chosen, cell.asked["cell"]) for cell in chosen.cells}
    origin_ns = _origin(found, messages.values())
    events = [*_slices(found, origin_ns)]
    for name, table in messages.items():
        events += _instants(name, table, origin_ns)
    head = json.dumps(
        {"run": harmless(chosen.document["run"]), "status": chosen.document["status"]}
    )
    lines = ",\n".join(_line(event) for event in [*_names(events), *map(_bare, events)])
    return f'{{"displayTimeUnit":"ms","otherData":{head},"traceEvents":[\n{lines}\n]}}\n'


def _messages(chosen: Chosen, cell: str) -> pa.Table:
    table = chosen.run.message_table
    return table.filter(pc.equal(table["cell"], cell))


def _origin(found: Sequence[Track], messages: Iterable[pa.Table]) -> int:
    began = [group.start_ns for track in found for group in track.groups]
    began += [int(pc.min(table["at_ns"]).as_py()) for table in messages if len(table)]
    return min(began, default=0)


def _slices(found: Sequence[Track], origin_ns: int) -> Iterator[dict[str, Any]]:
    made: Counter[int] = Counter()
    for track in found:
        pid = _pid(track.launch, track.process)
        made[pid] += 1
        place = {
            "pid": pid,
            "tid": pid * TIDS_PER_PID + MESSAGES_TID + made[pid],
            "process": f"{harmless(track.cell)} · launch {track.launch} · {track.process}",
            "thread": track.name,
        }
        for group in track.groups:
            for at_ns, begins, piece in tracks.edges(group):
                event = {"ph": "B" if begins else "E", "ts": _us(at_ns - origin_ns), **place}
                if begins:
                    event |= {"name": harmless(piece.name), "cat": piece.category}
                    event |= {"args": _arguments(piece.arguments)} if piece.arguments else {}
                yield event


def _instants(cell: str, table: pa.Table, origin_ns: int) -> Iterator[dict[str, Any]]:
    for row in table.to_pylist():
        pid = _pid(row["launch"], tracks.CLIENT)
        known = ("kind", "id", "bytes", "http_status")
        yield {
            "ph": "i",
            "s": "t",
            "ts": _us(row["at_ns"] - origin_ns),
            "pid": pid,
            "tid": pid * TIDS_PER_PID + MESSAGES_TID,
            "process": f"{harmless(cell)} · launch {row['launch']} · {tracks.CLIENT}",
            "thread": "messages",
            "name": f"{ARROWS[row['direction']]} {harmless(row['method'] or row['kind'])}",
            "cat": "message",
            "args": _arguments({key: row[key] for key in known}),
        }


def _names(events: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Process and track names, once each."""
    processes = {event["pid"]: event["process"] for event in events}
    threads = {(event["pid"], event["tid"]): event["thread"] for event in events}
    for pid, name in sorted(processes.items()):
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}}
    for (pid, tid), name in sorted(threads.items()):
        at = {"pid": pid, "tid": tid}
        yield {"ph": "M", "name": "thread_name", **at, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", **at, "args": {"sort_index": tid}}


def _bare(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in ("process", "thread")}


def _arguments(known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: harmless(value) if isinstance(value, str) else value
        for key, value in known.items()
        if value is not None
    }


def _pid(launch: int, process: str) -> int:
    return 1 + PIDS_PER_LAUNCH * launch + tracks.PROCESSES.index(process)


def _us(at_ns: int) -> float:
    """Three decimals at most, and the shortest text that reads back as the same number."""
    return at_ns / NS_PER_US


def _line(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

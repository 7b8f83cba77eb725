"""What the probe saw inside a server, laid beside the calls of one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench import probe
from bench.probe import Calls, ProbeFile
from bench.recorder import CallStamps

REPLIES = ("initialize_received", "discover_received", "tools_received", "first_received")
SETUP_POINTS = ("process_up", "imports_done", "first_read")


class Inside(NamedTuple):
    """Rows (call, read, entered, left, writing; None where missing), setup marks, and doubts."""

    rows: Sequence[tuple[int | None, ...]]
    marks: Mapping[str, int]
    facts: Mapping[str, Any]
    disordered: int


def look(
    files: Sequence[ProbeFile], calls: Sequence[CallStamps], marks: Mapping[str, int]
) -> Inside:
    """Pair the server's stamps with the calls, and take its start from the process that served.

    Calls without a reply have no window to look in: of them only the end of their work is known.
    """
    answered = [call for call in calls if call.received_ns is not None]
    windows = [(call.number, call.id, call.sent_ns, call.received_ns) for call in answered]
    index, id, sent, received = np.array(windows, np.int64).reshape(-1, 4).T
    port = np.array([call.local_port or 0 for call in answered], np.int64)
    asked = Calls(id=id, sent_ns=sent, received_ns=received, port=port)
    why = probe.reason(tuple(files), asked) if answered or not files else None
    if not files:
        return Inside((), {}, {"no_probe": why}, 0)
    joined = probe.join(np.concatenate([file.records for file in files]), asked)
    stamps = np.stack(
        [index, joined.read_ns, joined.entered_ns, joined.left_ns, joined.writing_ns], axis=1
    )
    rows = [(row[0], *(value or None for value in row[1:])) for row in stamps.tolist()]
    rows += _given_up(files, calls)
    served = next((file for file in files if file.used), files[0])
    facts = {
        "probe_sdk": served.sdk,
        "probe_language": served.language,
        "probe_exact": bool(joined.exact.all()) if len(index) else None,
        "no_probe": why,
    }
    return Inside(rows, _start(served, marks), facts, joined.disordered)


def _given_up(
    files: Sequence[ProbeFile], calls: Sequence[CallStamps]
) -> list[tuple[int | None, ...]]:
    """When the server's work on calls ended that have no reply; an id is used once in a launch."""
    open_calls = {call.id: call for call in calls if call.received_ns is None}
    found: list[tuple[int | None, ...]] = []
    for file in files:
        records = file.records[file.records["left"] > 0]
        for id, left_ns in zip(records["id"].tolist(), records["left"].tolist(), strict=True):
            call = open_calls.get(id)
            if call is not None and left_ns > call.sent_ns:
                found.append((call.number, None, None, left_ns, None))
    return found


def _start(file: ProbeFile, marks: Mapping[str, int]) -> dict[str, int]:
    """The start as the serving process stamped it; nothing where it contradicts our own stamps."""
    points = (file.process_up_ns, file.imports_done_ns, file.first_read_ns)
    began, replied = marks.get("spawning"), _first_reply(marks)
    if began is None or replied is None or any(point is None for point in points):
        return {}
    path = [began, *(point for point in points if point is not None), replied]
    return dict(zip(SETUP_POINTS, path[1:-1], strict=True)) if path == sorted(path) else {}


def _first_reply(marks: Mapping[str, int]) -> int | None:
    """When anything was answered first: an opening, where there was one, or what was asked then."""
    return min((marks[point] for point in REPLIES if point in marks), default=None)

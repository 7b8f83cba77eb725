"""The slices of a run on the tracks they belong to: what happened where, nested, never crossing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from bench import seen, segments, tables
from bench.seen import Seen
from bench.segments import MISSING, Segment

CLIENT, SERVER = "client", "server"
PROCESSES = (CLIENT, SERVER)
# Points that a probe stamps inside the server's process, of a call and of a setup.
INSIDE = (
    *seen.SERVER_POINTS,
    "interpreter_start",
    "process_up",
    "imports_done",
    "first_read",
)
CALL_KEYS = (
    "call",
    "phase",
    "outcome",
    "error_code",
    "request_id",
    "request_bytes",
    "response_bytes",
    "wire_requests",
)


class Slice(NamedTuple):
    """A segment between two stamps, ns of the one clock."""

    name: str
    start_ns: int
    end_ns: int
    category: str
    arguments: Mapping[str, Any]


class Group(NamedTuple):
    """What one call, or one setup, has on a track: perhaps a whole, and parts that follow on."""

    whole: Slice | None
    parts: tuple[Slice, ...]

    @property
    def start_ns(self) -> int:
        """Where it begins."""
        return self.whole.start_ns if self.whole else self.parts[0].start_ns

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return self.whole.end_ns if self.whole else self.parts[-1].end_ns


# A group, and the process and the track that it lies on.
Placed: TypeAlias = tuple[tuple[str, str], Group]


class Track(NamedTuple):
    """Groups in their order, none of which overlaps the next."""

    cell: str
    launch: int
    process: str
    name: str
    groups: tuple[Group, ...]


def of(cells: Sequence[Seen]) -> Iterator[Track]:
    """Every segment that has two stamps, launch by launch; calls in flight together have lanes."""
    for cell in cells:
        calls = _by_launch(cell.calls, _call_groups(cell))
        setups = _by_launch(cell.launches, _setup_groups(cell))
        for launch in sorted(setups.keys() | calls.keys()):
            named: dict[tuple[str, str], list[Group]] = {}
            for place, group in (*setups.get(launch, ()), *calls.get(launch, ())):
                named.setdefault(place, []).append(group)
            for (process, name), groups in named.items():
                for number, lane in enumerate(_lanes(groups)):
                    label = name if number == 0 else f"{name} ({number + 1})"
                    yield Track(cell.asked["cell"], launch, process, label, lane)


def edges(group: Group) -> Iterator[tuple[int, bool, Slice]]:
    """Stamp, whether it begins, and slice: in order, a whole around its parts."""
    if group.whole is not None:
        yield group.whole.start_ns, True, group.whole
    for part in group.parts:
        yield part.start_ns, True, part
        yield part.end_ns, False, part
    if group.whole is not None:
        yield group.whole.end_ns, False, group.whole


def _by_launch(table: pa.Table, rows: Sequence[list[Placed]]) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = {}
    for launch, placed in zip(table["launch"].to_pylist(), rows, strict=True):
        found.setdefault(launch, []).extend(placed)
    return found


def _call_groups(cell: Seen) -> list[list[Placed]]:
    points = (*seen.POINTS, *seen.SERVER_POINTS, *seen.CLIENT_POINTS)
    stamps = {point: tables.stamps(cell.calls, f"{point}_ns") for point in points}
    known = cell.calls.select([*CALL_KEYS, "tool"]).to_pylist()
    return [_call(row, {p: stamps[p][at] for p in points}) for at, row in enumerate(known)]


def _call(row: Mapping[str, Any], stamps: Mapping[str, Any]) -> list[Placed]:
    """A request that is only a part of a call, and what stands beside the sum, lie apart."""
    arguments = {key: row[key] for key in CALL_KEYS}
    main = "rounds" if row["phase"] == "round" else "calls"
    found = _slices(segments.CALL, stamps, row["phase"])
    whole = found.get("call")
    if whole is not None:
        found["call"] = whole._replace(name=row["tool"] or row["phase"], arguments=arguments)
    return _placed(segments.CALL, found, main, "call")


def _setup_groups(cell: Seen) -> list[list[Placed]]:
    names = [name for name in cell.launches.column_names if name.startswith("at_")]
    stamps = {name[3:-3]: tables.stamps(cell.launches, name) for name in names}
    points = segments.with_openings(stamps) if stamps else {}
    return [
        _placed(
            segments.SETUP,
            _slices(
                segments.SETUP, {point: column[at] for point, column in points.items()}, "setup"
            ),
            "setup",
            "setup",
        )
        for at in range(len(cell.launches))
    ]


def _slices(table: Sequence[Segment], stamps: Mapping[str, Any], category: str) -> dict[str, Slice]:
    found = {}
    for segment in table:
        start, end = (stamps.get(point, MISSING) for point in (segment.start, segment.end))
        if MISSING not in (start, end) and start <= end:
            found[segment.name] = Slice(segment.name, int(start), int(end), category, {})
    return found


def _placed(
    table: Sequence[Segment], found: Mapping[str, Slice], main: str, sum_name: str
) -> list[Placed]:
    """The whole with its client's parts, the server's parts in its process, the rest by name."""
    parts: dict[str, list[Slice]] = {CLIENT: [], SERVER: []}
    beside: list[Placed] = []
    for segment in table:
        piece = found.get(segment.name)
        if piece is None or segment.name == sum_name:
            continue
        if segment.part_of == sum_name:
            inside = segment.start in INSIDE and segment.end in INSIDE
            parts[SERVER if inside else CLIENT].append(piece)
        else:
            beside.append(((CLIENT, segment.name), Group(None, (piece,))))
    groups = {CLIENT: Group(found.get(sum_name), _in_order(parts[CLIENT]))}
    groups[SERVER] = Group(None, _in_order(parts[SERVER]))
    there = [((at, main), group) for at, group in groups.items() if group.whole or group.parts]
    return there + beside


def _in_order(parts: Sequence[Slice]) -> tuple[Slice, ...]:
    return tuple(sorted(parts, key=lambda part: (part.start_ns, part.end_ns)))


def _lanes(groups: Sequence[Group]) -> list[tuple[Group, ...]]:
    """The groups on as few lanes as it takes for none to overlap another."""
    lanes: list[list[Group]] = []
    for group in sorted(groups, key=lambda group: (group.start_ns, group.end_ns)):
        free = next((lane for lane in lanes if lane[-1].end_ns <= group.start_ns), None)
        if free is None:
            lanes.append([group])
        else:
            free.append(group)
    return [tuple(lane) for lane in lanes]

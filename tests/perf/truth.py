"""Whether the instrument tells the truth: programmed delays, and which segments move by them.

Dials of one call are turned at random, call by call, inside one process, with a cheapest request
(the floor) after each call; those of a start need processes of their own, which take turns. A row
says how far its segment moved from what was programmed, as the median; the words, what else moved.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import anyio
import numpy as np

from bench import segments
from bench.measure import loop_options
from bench.segments import MISSING, Stamps
from tests import dialled
from tests.dialled import Dials, Seen, Where
from tests.perf import rows
from tests.perf.rows import Row

SERVERS = ("none", "lowlevel", "mcpserver", "ts1", "ts2")
BLOCKS, WARMUP, ROUNDS = 300, 300, 9
CALL_NS, LONG_NS, START_NS = 1_000_000, 10_000_000, 1_000_000_000
CLOSE_NS, CLOSE = 20_000, 0.02
OFF = "off"
PARTS = tuple(one.name for one in segments.CALL if one.part_of == "call")


class Dial(NamedTuple):
    """A place of delay: the segment it belongs to, and the stamps between which that lies."""

    point: str
    segment: str
    start: str
    end: str


CALL = (
    Dial("before", "dispatch", "read", "entered"),
    Dial("handler", "work", "entered", "left"),
    Dial("after", "encode", "left", "writing"),
    Dial("write", "encode", "left", "writing"),
)
PIPED = (
    Dial("import", "imports", "process_up", "imports_done"),
    Dial("serving", "serving", "imports_done", "first_read"),
)
UNSEEN = (
    Dial("import", "first_reply", "spawning", "first_reply_received"),
    Dial("serving", "first_reply", "spawning", "first_reply_received"),
)
CONNECTED = (
    Dial("import", "boot", "spawning", "accepting"),
    Dial("serving", "boot", "spawning", "accepting"),
)


class Calls(NamedTuple):
    """One launch in which dials were turned call by call: durations (ns), and each call's dial."""

    seen: Seen
    durations: Mapping[str, Stamps]
    turned: np.ndarray[tuple[int], np.dtype[np.str_]]

    def moved(self, segment: str, point: str) -> float:
        """How far the median of a segment moves when this dial is turned, ns."""
        values = self.durations[segment]
        on, off = values[self.turned == point], values[self.turned == OFF]
        return float(np.median(on) - np.median(off))


def measure() -> Iterator[Row]:
    """Every server, in every cell that it has."""
    for name in SERVERS:
        dialled.tell_noise()
        for where in dialled.cells(name):
            label = f"{name} {' '.join(where)}"
            yield from _starts(name, where, label)
            if name == "none":
                yield from _from_outside(where, label)
            yield from _inside(name, where, label)


def _inside(name: str, where: Where, label: str) -> Iterator[Row]:
    """The segments between the server's stamps."""
    calls = _calls(name, where, CALL_NS)
    for dial in CALL:
        off_ns = abs(calls.moved(dial.segment, dial.point) - CALL_NS)
        title = f"{label}: {dial.point} moves {dial.segment}, µs off"
        yield _row(title, off_ns, CALL_NS, 1e3, _beside(calls, dial.point, (dial.segment,)))
        if name != "none":
            yield _agreement(calls, dial, label)
    parts = np.stack([calls.durations[part] for part in PARTS])
    missing = int((parts == MISSING).any(axis=0).sum()) - calls.seen.disordered
    disorder = int(((parts < 0) & (parts != MISSING)).any(axis=0).sum()) + calls.seen.disordered
    yield Row(f"{label}: calls out of order", disorder, 0, f"of {len(calls.turned)}")
    yield Row(f"{label}: calls without every stamp", missing, 0, f"of {len(calls.turned)}")


def _from_outside(where: Where, label: str) -> Iterator[Row]:
    """What the client alone sees, of a long delay, and of a short one where no core waits idle."""
    for apart, wait_ns, words in ((True, LONG_NS, "two cores"), (False, CALL_NS, "one core")):
        calls = _calls("none", where, wait_ns, apart=apart)
        for dial in CALL:
            beside = f"{wait_ns / 1e6:g} ms; {_beside(calls, dial.point, (dial.segment, 'call'))}"
            for segment in ("call", "ttfb"):
                off_ns = abs(calls.moved(segment, dial.point) - wait_ns)
                title = f"{label}, {words}: {dial.point} moves {segment}, µs off"
                yield _row(title, off_ns, wait_ns, 1e3, beside)
        off_ns = max(abs(calls.moved("floor", dial.point)) for dial in CALL)
        title = f"{label}, {words}: the floor stays, µs off"
        yield Row(title, off_ns / 1e3, _close(wait_ns) / 1e3, "after the dial that moves it most")


def _calls(name: str, where: Where, wait_ns: int, *, apart: bool = True) -> Calls:
    """One launch: blocks of one call per dial and one without, each in random order."""
    turned: list[str] = []
    shuffle = random.Random(1).sample
    for _ in range(BLOCKS * CALL_NS // max(CALL_NS, wait_ns // 3)):
        turned += shuffle([OFF, *(dial.point for dial in CALL)], len(CALL) + 1)
    turns = [{dial.point: wait_ns * (dial.point == one) for dial in CALL} for one in turned]
    seen = _driven(name, where, {}, turns, apart=apart)
    durations = {**segments.calls(seen.stamps), "floor": seen.floor}
    return Calls(seen, durations, np.array(turned))


def _driven(
    name: str, where: Where, standing: Dials, turns: Sequence[Dials], *, apart: bool = True
) -> Seen:
    async def main() -> Seen:
        warmup = WARMUP if turns else 0
        tested = dialled.server(name, standing)
        return await dialled.drive(tested, where, turns, warmup=warmup, apart=apart)

    return anyio.run(main, backend_options=loop_options())


def _agreement(calls: Calls, dial: Dial, label: str) -> Row:
    """The probe against the server's own log of the dial, call by call.

    `work` is the dial and nothing else. Of another segment the dial is a part: what the segment
    holds beside it must be the same whether it is turned or not.
    """
    stamps, spins = calls.seen.stamps, calls.seen.spins[dial.point]
    rest = calls.durations[dial.segment] - (spins[:, 1] - spins[:, 0])
    on, off = rest[calls.turned == dial.point], rest[calls.turned == OFF]
    apart_ns = abs(float(np.median(on)) - (0 if dial.segment == "work" else float(np.median(off))))
    outside = int(((stamps[dial.start] > spins[:, 0]) | (spins[:, 1] > stamps[dial.end])).sum())
    words = f"{outside} of {len(spins)} intervals of the log outside {dial.start} to {dial.end}"
    title = f"{label}: {dial.point}, stamps against log, µs"
    return _row(title, apart_ns, CALL_NS, 1e3, words) if not outside else Row(title, None, 0, words)


def _beside(calls: Calls, point: str, but: tuple[str, ...]) -> str:
    """What else moves, of the parts of a call, the call and the floor; to a whole µs."""
    other = [name for name in (*PARTS, "call", "floor") if name not in but]
    moves = {name: round(calls.moved(name, point) / 1e3) for name in other}
    return _listed(moves, "µs")


def _starts(name: str, where: Where, label: str) -> Iterator[Row]:
    """The segments of a start: three processes take turns, two with a dial turned."""
    dials = CONNECTED if where[0] == "http" else UNSEEN if name == "none" else PIPED
    order = random.Random(2)
    launches: dict[str, list[Seen]] = {OFF: [], **{dial.point: [] for dial in dials}}
    for _ in range(ROUNDS):
        for point in order.sample(list(launches), len(launches)):
            launches[point].append(_driven(name, where, {point: START_NS}, []))
    durations = {point: segments.setups(_marks(each)) for point, each in launches.items()}
    for dial in dials:
        moves = {
            segment: float(np.median(durations[dial.point][segment] - values))
            for segment, values in durations[OFF].items()
        }
        off_ns = abs(moves.pop(dial.segment) - START_NS)
        title = f"{label}: {dial.point} moves {dial.segment}, ms off"
        in_ms = {segment: round(each / 1e6, 1) for segment, each in moves.items()}
        yield _row(title, off_ns, START_NS, 1e6, _listed(in_ms, "ms"))
        outside = sum(_outside(seen, dial) for seen in launches[dial.point])
        title = f"{label}: {dial.point}, log outside {dial.start} to {dial.end}"
        yield Row(title, outside, 0, f"of {ROUNDS} starts")


def _marks(launches: Sequence[Seen]) -> dict[str, Stamps]:
    points = {point for seen in launches for point in seen.marks}
    marks = {
        point: np.array([seen.marks.get(point, MISSING) for seen in launches], np.int64)
        for point in points
    }
    return marks


def _outside(seen: Seen, dial: Dial) -> bool:
    marks, (began, ended) = seen.marks, seen.spins[dial.point][0]
    end = marks.get(dial.end, marks.get("initialize_received", marks.get("discover_received", 0)))
    return not marks[dial.start] <= began <= ended <= end


def _close(wait_ns: int) -> float:
    """How far off is still close: 20 µs or 2 %."""
    return max(CLOSE_NS, CLOSE * wait_ns)


def _row(title: str, off_ns: float, wait_ns: int, unit_ns: float, words: str) -> Row:
    return Row(title, off_ns / unit_ns, _close(wait_ns) / unit_ns, words)


def _listed(moves: Mapping[str, float], unit: str) -> str:
    moved = [f"{name} {by:+g}" for name, by in moves.items() if by]
    return f"beside it, {unit}: {', '.join(moved)}" if moved else "nothing else moves"


if __name__ == "__main__":
    sys.exit(rows.main(__doc__.splitlines()[0], measure))

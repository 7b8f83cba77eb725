"""What the probe costs: a call, with its hooks taken off and put on by signal; and a start.

Fresh processes differ among themselves by more than the probe costs a call, so that is measured
in one process: blocks of calls with the hooks on and off, in pairs of random order, and per pair
the ratio of the two medians. A just-in-time compiler throws away what it has learned when a hook
is switched, and learns again: that takes calls which are not counted. What the probe adds to a
start takes fresh processes, on and off in turns.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import numpy as np
from numpy.typing import NDArray

from bench import probe
from bench.measure import loop_options
from bench.model import Step
from bench.recorder import SYSTEM_CLOCK
from bench.session import Session
from bench.stats import hodges_lehmann
from tests import dialled
from tests.dialled import Where
from tests.perf import rows
from tests.perf.rows import Row

UNCOUNTED = {"lowlevel": 4, "mcpserver": 4, "ts1": 300, "ts2": 300}  # calls after a switch
BLOCK_CALLS, WARMUP = 64, 1_500
PAIRS, STARTS = 120, 15
CALL_RATIO, START_MS = 1.03, 10.0
BARE = {"python": (sys.executable, "-c", "pass"), "node": ("node", "-e", "0")}
Ns: TypeAlias = NDArray[np.float64]


def measure() -> Iterator[Row]:
    """A call on every server in every cell it has, then the starts."""
    for name in UNCOUNTED:
        dialled.tell_noise()
        for where in dialled.cells(name):
            yield _call_row(name, where)
    for runtime, command in BARE.items():
        yield _start_row(f"bare {runtime}", partial(_bare_ns, command))
    for name in UNCOUNTED:
        yield _start_row(f"{name} stdio, to ready", partial(_ready_ns, name))


def _call_row(name: str, where: Where) -> Row:
    on, off, recorded = anyio.run(_pairs, name, where, backend_options=loop_options())
    title = f"{name} {' '.join(where)}: call p50, on to off"
    expected = WARMUP + PAIRS * (BLOCK_CALLS + UNCOUNTED[name])
    if abs(recorded - expected) > 2 * PAIRS:  # a switch may fall beside the call it was meant for
        return Row(title, None, CALL_RATIO, f"{recorded} calls recorded of {expected}")
    shift = hodges_lehmann(np.log(on) - np.log(off))
    words = f"95 % {shift.low:.3f} to {shift.high:.3f}; {_added(on, off, 1e3)} µs"
    return Row(title, shift.ratio, CALL_RATIO, words)


async def _pairs(name: str, where: Where) -> tuple[Ns, Ns, int]:
    """Block medians with the hooks on and off, pair for pair, and the calls that were recorded."""
    medians: dict[bool, list[float]] = {True: [], False: []}
    order = random.Random(3)
    with tempfile.TemporaryDirectory() as folder, dialled.in_place(), dialled.without_gc():
        side_files = Path(folder) / "probe-"
        switchable = {"MCP_LATENCY_PROBE_TOGGLE": "1"}
        opening = dialled.opened(
            dialled.server(name), where, side_files=side_files, variables=switchable
        )
        async with opening as (session, recorder):
            await _block(session, WARMUP, uncounted=0)
            state = True
            for _ in range(PAIRS):
                for wanted in order.sample([True, False], 2):
                    if state != wanted:
                        _switch(session)
                        state = wanted
                    medians[state].append(
                        await _block(session, BLOCK_CALLS, uncounted=UNCOUNTED[name])
                    )
                recorder.take()
        recorded = sum(int((file.records["entered"] > 0).sum()) for file in probe.read(side_files))
    return np.array(medians[True]), np.array(medians[False]), recorded


def _switch(session: Session) -> None:
    assert session.process is not None
    os.kill(session.process.pid, signal.SIGUSR2)


async def _block(session: Session, calls: int, *, uncounted: int) -> float:
    """The median of so many calls, ns, after those at which a switch takes effect."""
    took_ns = []
    for _ in range(uncounted + calls):
        reply = await session.call(session.request(Step(tool="null")))
        assert reply.received_ns is not None, reply.why
        took_ns.append(reply.received_ns - reply.sent_ns)
    return float(np.median(took_ns[uncounted:]))


def _start_row(what: str, start: Callable[[bool], int]) -> Row:
    """What the probe adds to a start, ms: median over pairs of starts in random order."""
    took_ns: dict[bool, list[int]] = {True: [], False: []}
    order = random.Random(4)
    with dialled.in_place():
        for probed in (True, False):
            start(probed)
        for _ in range(STARTS):
            for probed in order.sample([True, False], 2):
                took_ns[probed].append(start(probed))
    on, off = np.array(took_ns[True], np.float64), np.array(took_ns[False], np.float64)
    shift = hodges_lehmann(np.log(on) - np.log(off))
    words = f"ratio {shift.ratio:.3f}, 95 % {shift.low:.3f} to {shift.high:.3f}"
    added_ms = float(np.median(on - off)) / 1e6
    return Row(f"{what}: probe adds, ms", added_ms, START_MS, f"{words}; {_added(on, off, 1e6)} ms")


def _bare_ns(command: tuple[str, ...], on: bool) -> int:
    """A runtime from its start to its end, with nothing to do."""
    with tempfile.TemporaryDirectory() as folder:
        variables = dict(os.environ)
        if on:
            variables = probe.environment(Path(folder) / "probe-", variables)
        began_ns = SYSTEM_CLOCK()
        subprocess.run(command, env=variables, check=True)
        return SYSTEM_CLOCK() - began_ns


def _ready_ns(name: str, on: bool) -> int:
    """A server from its start until it can be called."""

    async def main() -> int:
        side_files = Path(folder) / "probe-" if on else None
        opening = dialled.opened(dialled.server(name), ("stdio", "stateful"), side_files=side_files)
        async with opening as (_, recorder):
            return recorder.marks["ready"] - recorder.marks["spawning"]

    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(main, backend_options=loop_options())


def _added(on: Ns, off: Ns, unit_ns: float) -> str:
    return f"{np.median(on - off) / unit_ns:+.2g} of {np.median(off) / unit_ns:.3g}"


if __name__ == "__main__":
    sys.exit(rows.main(__doc__.splitlines()[0], measure))

"""Is this machine fit to measure: its clock, cores and noise, and the floor of our own client."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from bench import host, stats
from bench.errors import BenchError
from bench.model import (
    TRANSPORTS,
    Cell,
    HttpRecipe,
    Limits,
    Placement,
    Server,
    Step,
    Transport,
    Turn,
)
from bench.process import Environment
from bench.recorder import SYSTEM_CLOCK, Recorder
from bench.session import launch

NOTHING = str(Path(__file__).with_name("nothing.py"))
SERVER = Server(
    name="nothing",
    stdio=(sys.executable, "-S", NOTHING),
    http=HttpRecipe(
        url="http://127.0.0.1:{port}/mcp", command=(sys.executable, "-S", NOTHING, "{port}")
    ),
)
CALLS, ROUNDS = 400, 5
CLOCK_READS = 20_000
DEAR_CLOCK_NS, BUSY_LOAD, BUSY_PRESSURE = 200, 0.5, 10.0


class Check(NamedTuple):
    """One fact of the machine, whether it is fit, and what helps where it is not."""

    name: str
    value: str
    ok: bool
    advice: str = ""


class Floor(NamedTuple):
    """What a call of nothing costs our client: ns, over all rounds of a placement."""

    transport: str
    placement: str
    p50_ns: int
    p90_ns: int
    spread: float


async def examine() -> dict[str, Any]:
    """The whole document: checks, and floors by transport and placement."""
    facts = host.facts()
    checks = list(_checks(facts))
    floors = await _floors()
    return {
        "format": 1,
        "host": facts,
        "checks": [check._asdict() for check in checks],
        "floors": [floor._asdict() for floor in floors],
    }


def _checks(facts: dict[str, Any]) -> Iterator[Check]:
    clock = facts["clock"]
    cost_ns = _clock_cost_ns()
    yield Check(
        "clock",
        f"{clock['name']}, resolution {clock['resolution_s'] * 1e9:.0f} ns, {cost_ns} ns a reading",
        cost_ns < DEAR_CLOCK_NS,
        "a reading this dear is a system call: is the clock source tsc?",
    )
    placed = host.placement("auto")
    yield Check(
        "cores",
        f"{facts['cores']}; client on {_cores(placed.client)}, servers on {_cores(placed.server)}",
        bool(placed.client),
        "with one core client and server take turns; compare only runs of this machine",
    )
    load = facts["noise"]["load_1min"]
    yield Check(
        "load",
        f"{load:.2f} over the last minute",
        load < BUSY_LOAD * (facts["cores"] or 1),
        "something else runs here: wait, or take more launches",
    )
    pressure = facts["noise"].get("cpu_pressure_10s_percent")
    if pressure is not None:
        yield Check(
            "waiting for a core",
            f"{pressure:.1f} % of the last 10 s",
            pressure < BUSY_PRESSURE,
            "processes wait for each other: end what else runs",
        )
    governor = _governor()
    yield Check(
        "frequency",
        governor or "not visible here, as on most virtual machines",
        governor in (None, "performance"),
        "try: cpupower frequency-set -g performance",
    )


def _clock_cost_ns() -> int:
    began_ns = SYSTEM_CLOCK()
    for _ in range(CLOCK_READS):
        SYSTEM_CLOCK()
    return (SYSTEM_CLOCK() - began_ns) // CLOCK_READS


def _governor() -> str | None:
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip()
    except OSError:
        return None


def _cores(cpus: tuple[int, ...]) -> str:
    return ",".join(str(cpu) for cpu in cpus) or "any"


def placements() -> dict[str, Placement]:
    """The ways to place client and server that this machine has."""
    apart = host.placement("auto")
    found = {"wherever the system puts them": Placement()}
    if apart.client:
        found["on cores of their own"] = apart
        found["on one core"] = Placement(client=apart.client, server=apart.client)
    return found


async def _floors() -> list[Floor]:
    """Rounds of all placements in turn, so that drift hits all alike."""
    ways = placements()
    readings: dict[tuple[Transport, str], list[list[int]]] = {}
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    try:
        for _ in range(ROUNDS):
            for transport in TRANSPORTS:
                for name, place in ways.items():
                    host.take_place(place.client or tuple(before))
                    took = await _round(transport, place)
                    readings.setdefault((transport, name), []).append(took)
    finally:
        host.take_place(tuple(before))
    return [_floor(*key, rounds) for key, rounds in readings.items()]


async def _round(transport: Transport, place: Placement) -> list[int]:
    cell = Cell(
        name="doctor",
        scenario="doctor",
        server=SERVER.name,
        transport=transport,
        era="stateful",
    )
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=False)
    environment = Environment(cpus=place.server)
    async with launch(SERVER, cell, recorder, environment, Limits()) as session:
        await session.open()
        replies = [await session.call(session.request(Step(tool="null"))) for _ in range(CALLS)]
    took = [r.received_ns - r.sent_ns for r in replies if r.received_ns is not None]
    if len(took) < CALLS:
        raise BenchError(f"the floor server did not answer: {replies[-1].why}")
    return took[CALLS // 4 :]


def _floor(transport: Transport, name: str, rounds: list[list[int]]) -> Floor:
    merged = [value for each in rounds for value in each]
    medians = [stats.rank_quantile(each, 0.5) for each in rounds]
    p50_ns, p90_ns = (stats.rank_quantile(merged, q) for q in (0.5, 0.9))
    spread = (max(medians) - min(medians)) / p50_ns
    return Floor(transport, name, p50_ns, p90_ns, round(spread, 3))


def run(loop_options: dict[str, Any]) -> dict[str, Any]:
    """`examine`, from outside an event loop."""
    return anyio.run(examine, backend_options=loop_options)

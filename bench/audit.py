"""The start-up audit: how long a host waits for its servers, one by one and all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio

from bench import stats
from bench.errors import BenchError
from bench.model import Cell, EraName, Limits, Server, Turn
from bench.process import Environment
from bench.recorder import SYSTEM_CLOCK, Recorder
from bench.session import launch

ALONE, TOGETHER = "alone", "together"


class Start(NamedTuple):
    """One start of one server: ns from its launch until its tools are known, or why not."""

    server: str
    way: str
    ready_ns: int | None
    error: str


async def audit(
    servers: Sequence[Server], *, era: EraName, rounds: int, limits: Limits
) -> dict[str, Any]:
    """Start all servers `rounds` times in turn and `rounds` times together; the whole document.

    A server that fails is reported with its words and counted; it does not stop the others.
    """
    starts: list[Start] = []
    waits: dict[str, list[int]] = {ALONE: [], TOGETHER: []}
    for _ in range(rounds):
        began_ns = SYSTEM_CLOCK()
        for server in servers:
            starts.append(await _start(server, ALONE, era, limits))
        waits[ALONE].append(SYSTEM_CLOCK() - began_ns)
        waits[TOGETHER].append(await _together(servers, era, limits, starts))
    return _document(servers, starts, waits)


async def _together(
    servers: Sequence[Server], era: EraName, limits: Limits, starts: list[Start]
) -> int:
    """Start all at once, as a host does; ns until the last one is ready, without their ends."""
    found: list[Start] = []

    async def one(server: Server) -> None:
        found.append(await _start(server, TOGETHER, era, limits))

    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(one, server)
    starts += found
    return max((start.ready_ns or 0 for start in found), default=0)


async def _start(server: Server, way: str, era: EraName, limits: Limits) -> Start:
    (transport, *_) = server.transports
    cell = Cell(name="audit", scenario="audit", server=server.name, transport=transport, era=era)
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=False)
    environment = Environment(limit_s=limits.setup_s)
    began_ns = recorder.clock()
    try:
        async with launch(server, cell, recorder, environment, limits) as session:
            await session.open()
            await session.tools()
            ready_ns = recorder.clock() - began_ns
    except BenchError as error:
        return Start(server.name, way, None, str(error))
    return Start(server.name, way, ready_ns, "")


def _document(
    servers: Sequence[Server], starts: Sequence[Start], waits: dict[str, list[int]]
) -> dict[str, Any]:
    rows = [_row(server.name, starts) for server in servers]
    known = [row for row in rows if row["together_ns"] is not None]
    last = max(known, key=lambda row: row["together_ns"], default=None)
    return {
        "format": 1,
        "servers": rows,
        "wait": {
            "alone_ns": stats.rank_quantile(waits[ALONE], 0.5),
            "together_ns": stats.rank_quantile(waits[TOGETHER], 0.5),
        },
        "slowest": None if last is None else last["server"],
    }


def _row(name: str, starts: Sequence[Start]) -> dict[str, Any]:
    own = [start for start in starts if start.server == name]
    return {
        "server": name,
        **{f"{way}_ns": _median(own, way) for way in (ALONE, TOGETHER)},
        "failed": sum(bool(start.error) for start in own),
        "error": next((start.error for start in own if start.error), None),
    }


def _median(starts: Sequence[Start], way: str) -> int | None:
    values = [s.ready_ns for s in starts if s.way == way and s.ready_ns is not None]
    return stats.rank_quantile(values, 0.5) if values else None


def run(
    servers: Sequence[Server],
    loop_options: dict[str, Any],
    *,
    era: EraName = "stateful",
    rounds: int,
    limits: Limits,
) -> dict[str, Any]:
    """`audit`, from outside an event loop."""

    async def main() -> dict[str, Any]:
        return await audit(servers, era=era, rounds=rounds, limits=limits)

    return anyio.run(main, backend_options=loop_options)

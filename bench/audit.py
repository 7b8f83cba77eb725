"""The start-up audit: how long a host waits for its servers, one by one and all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio

from bench import redact, stats
from bench.errors import BenchError
from bench.model import Cell, Limits, Server, Turn
from bench.process import POLL_S, Environment
from bench.recorder import SYSTEM_CLOCK, Recorder
from bench.session import launch

ALONE, TOGETHER = "alone", "together"


class Start(NamedTuple):
    """One start of one server: ns from its launch until its tools are known, or it has failed."""

    server: str
    way: str
    waited_ns: int
    error: str


async def audit(servers: Sequence[Server], *, rounds: int, limits: Limits) -> dict[str, Any]:
    """Start all servers `rounds` times in turn and `rounds` times together; the whole document.

    A server that fails is reported with its words and counted, with what the host waited for it;
    it does not stop the others. What a server takes to leave is in no figure.
    """
    starts: list[Start] = []
    waits: dict[str, list[int]] = {ALONE: [], TOGETHER: []}
    for _ in range(rounds):
        alone = [await _alone(server, limits) for server in servers]
        together = await _together(servers, limits)
        waits[ALONE].append(sum(start.waited_ns for start in alone))
        waits[TOGETHER].append(max(start.waited_ns for start in together))
        starts += [*alone, *together]
    return _document(servers, starts, waits)


async def _alone(server: Server, limits: Limits) -> Start:
    ready = anyio.Event()
    ready.set()
    found: list[Start] = []
    await _start(server, ALONE, limits, SYSTEM_CLOCK(), found, ready)
    return found[0]


async def _together(servers: Sequence[Server], limits: Limits) -> list[Start]:
    """Start all at once, as a host does; each stays until the last one is ready or has failed."""
    found: list[Start] = []
    ready = anyio.Event()
    began_ns = SYSTEM_CLOCK()
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(_start, server, TOGETHER, limits, began_ns, found, ready)
        while len(found) < len(servers):
            await anyio.sleep(POLL_S)
        ready.set()
    return found


async def _start(
    server: Server,
    way: str,
    limits: Limits,
    began_ns: int,
    found: list[Start],
    ready: anyio.Event,
) -> None:
    """Start one, add what came of it to `found`, and end it once `ready` is set."""
    (transport, *_) = server.transports
    cell = Cell(
        name="audit", scenario="audit", server=server.name, transport=transport, era="stateful"
    )
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=False)
    environment = Environment(limit_s=limits.setup_s)
    try:
        async with launch(server, cell, recorder, environment, limits) as session:
            await session.open()
            await session.tools()
            found.append(Start(server.name, way, recorder.clock() - began_ns, ""))
            await ready.wait()
    except BenchError as error:
        words = redact.text(str(error), redact.secrets_of(server))
        found.append(Start(server.name, way, recorder.clock() - began_ns, words))


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
    values = [start.waited_ns for start in starts if start.way == way and not start.error]
    return stats.rank_quantile(values, 0.5) if values else None


def run(
    servers: Sequence[Server], loop_options: dict[str, Any], *, rounds: int, limits: Limits
) -> dict[str, Any]:
    """`audit`, from outside an event loop."""

    async def main() -> dict[str, Any]:
        return await audit(servers, rounds=rounds, limits=limits)

    return anyio.run(main, backend_options=loop_options)

"""A server in memory, a clock that counts, and a whole run between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from bench import runner, store
from bench.drive import Job
from bench.measure import loop_options
from bench.model import Cell, EraName, Limits, Placement, Scenario, Server, Step
from bench.plan import turns
from bench.report.progress import Silent
from bench.runner import Ended
from bench.store import Run
from bench.wire import memory

TICK_NS = 1_000


class CountingClock:
    """Each reading is one tick after the one before; `spend` lets time pass."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += TICK_NS
        return self.now_ns

    def spend(self, wait_ns: int) -> None:
        self.now_ns += wait_ns


class Responder:
    """Answers like a small server of either era, and takes a set time for each method."""

    def __init__(self, clock: CountingClock, costs_ns: dict[str, int]) -> None:
        self._clock = clock
        self._costs_ns = costs_ns
        self.calls = 0
        self.answers: dict[str, Any] = {}

    def __call__(self, body: bytes) -> Iterable[bytes]:
        return list(self._answers(json.loads(body)))

    def _answers(self, message: dict[str, Any]) -> Iterator[bytes]:
        method = message["method"]
        self._clock.spend(self._costs_ns.get(method, 0))
        if "id" not in message:
            return
        if method == "tools/call":
            self.calls += 1
        answer = self.answers.get(method) or {"result": RESULTS[method]}
        yield json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode()


RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}},
    "server/discover": {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    },
    "ping": {},
    "tools/list": {"tools": [{"name": "null", "inputSchema": {}}], "resultType": "complete"},
    "tools/call": {"content": [], "isError": False},
}


def run_in_memory(
    path: Path,
    respond: memory.Responder,
    clock: CountingClock,
    *,
    eras: tuple[EraName, ...] = ("stateful", "stateless"),
    launches: int = 6,
    calls: int = 4,
    call_limit_s: float = 5.0,
    server: str = "small",
) -> tuple[Ended, Run]:
    """One whole run over the memory wire, stored and read back."""
    cells = [_cell(server, era) for era in eras]
    memory.SERVERS[server] = respond
    load = Load(launches, calls, call_limit_s)
    return _run(path, cells, clock, load)


def run_servers(
    path: Path,
    responders: Mapping[str, memory.Responder],
    clock: CountingClock,
    *,
    launches: int = 6,
    calls: int = 4,
) -> Run:
    """The same with one cell a server, by their names, in the era with a handshake."""
    memory.SERVERS.update(responders)
    cells = [_cell(name, "stateful") for name in responders]
    return _run(path, cells, clock, Load(launches, calls))[1]


class Load(NamedTuple):
    """How often a run asks, and how long it waits."""

    launches: int
    calls: int
    call_limit_s: float = 5.0


def _cell(server: str, era: EraName) -> Cell:
    name = f"story/{server}/memory/{era}"
    return Cell(name=name, scenario="story", server=server, transport="memory", era=era)


def _run(path: Path, cells: Sequence[Cell], clock: CountingClock, load: Load) -> tuple[Ended, Run]:
    scenario = Scenario(name="story", call=(Step(tool="null"),), calls=load.calls, warmup=1)
    plan = turns(cells, launches={cell.name: load.launches for cell in cells}, seed=1)
    job = Job(
        scenarios={"story": scenario},
        servers={cell.server: Server(name=cell.server) for cell in cells},
        limits=Limits(call_s=load.call_limit_s, setup_s=5.0),
        placement=Placement(),
        words={},
        clock=clock,
    )
    asked = [
        {
            "cell": cell.name,
            "server": cell.server,
            "transport": "memory",
            "era": cell.era,
            "scenario": "story",
            "variant": {},
        }
        for cell in cells
    ]
    path.mkdir(exist_ok=True)
    writer = store.Writer(path, {"scenario": "story", "seed": 1, "cells": asked})
    ended = anyio.run(runner.run, plan, job, writer, Silent(), backend_options=loop_options())
    writer.close(ended.status, failed={name: str(each) for name, each in ended.failed.items()})
    return ended, store.read(path)

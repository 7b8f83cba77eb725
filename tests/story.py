"""A server in memory, a clock that counts, and a whole run between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

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
    scenario = Scenario(name="story", call=(Step(tool="null"),), calls=calls, warmup=1)
    cells = [
        Cell(
            name=f"story/{server}/memory/{era}",
            scenario="story",
            server=server,
            transport="memory",
            era=era,
        )
        for era in eras
    ]
    plan = turns(cells, launches={cell.name: launches for cell in cells}, seed=1)
    job = Job(
        scenarios={"story": scenario},
        servers={server: Server(name=server)},
        limits=Limits(call_s=call_limit_s, setup_s=5.0),
        placement=Placement(),
        words={},
        clock=clock,
    )
    asked = [
        {
            "cell": cell.name,
            "server": server,
            "transport": "memory",
            "era": cell.era,
            "scenario": "story",
            "variant": {},
        }
        for cell in cells
    ]
    path.mkdir(exist_ok=True)
    writer = store.Writer(path, {"scenario": "story", "seed": 1, "cells": asked})
    memory.SERVERS[server] = respond
    ended = anyio.run(runner.run, plan, job, writer, Silent(), backend_options=loop_options())
    writer.close(ended.status, failed={name: str(each) for name, each in ended.failed.items()})
    return ended, store.read(path)

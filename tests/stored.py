"""Runs over the memory wire as a folder a test can change: another host, another label, scatter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.story import CountingClock, Responder, run_servers

MS = 1_000_000
HOST: Mapping[str, Any] = {
    "cpu": "AMD EPYC 7763 64-Core Processor",
    "cores": 4,
    "machine": "x86_64",
    "system": "Linux 6.8.0-1017-azure",
    "python": "3.12.4",
    "versions": {"python": "3.12.4", "mcp-latency": "0.1.0", "uvloop": "0.21.0"},
}
QUESTION = {"name": "story", "call": [{"tool": "null", "arguments": {}}], "warmup": 1}


class Scattered(Responder):
    """A responder of which each launch takes a little longer or shorter than the one before."""

    def __init__(
        self, clock: CountingClock, costs_ns: dict[str, int], scatter: float, seed: int
    ) -> None:
        super().__init__(clock, costs_ns)
        self._usual, self._scatter = costs_ns, scatter
        self._random = np.random.default_rng(seed)

    def __call__(self, body: bytes) -> Iterable[bytes]:
        if json.loads(body)["method"] == "initialize":
            factor = float(np.exp(self._random.normal(0, self._scatter)))
            self._costs_ns = {key: round(value * factor) for key, value in self._usual.items()}
        return super().__call__(body)


def stored(
    path: Path,
    *,
    servers: Mapping[str, int | None],
    launches: int = 12,
    calls: int = 4,
    scatter: float = 0.01,
) -> Path:
    """A run of servers, by name: the ns a call of each takes; None: it never answers one well."""
    clock = CountingClock()
    responders = {}
    for number, (name, cost_ns) in enumerate(servers.items()):
        costs = {"initialize": 3 * MS, "tools/list": MS, "tools/call": cost_ns or MS}
        seed = number + len(path.name)
        responders[name] = Scattered(clock, costs, scatter, seed)
        if cost_ns is None:
            error = {"error": {"code": -32603, "message": "no"}}
            responders[name].answers["initialize"] = error
    run_servers(path, responders, clock, launches=launches, calls=calls)
    changed(path, host=dict(HOST), scenarios=[QUESTION], placement={"client": [0], "server": [1]})
    return path


def changed(path: Path, **keys: Any) -> Path:
    """The run with other values in its run.json."""
    file = path / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **keys}), "utf-8")
    return path

"""Drive one server with the probe and collect what its files say: shared by tests and matrix."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.probe import Calls, Joined, ProbeFile, environment, join, read
from bench.probe.joining import AUTHOR
from tests.probe import lab
from tests.probe.client import STATEFUL, Exchange, Http, Session, Stdio, columns

SERVERS = Path(__file__).parent / "servers"


@dataclass(frozen=True)
class Setup:
    """One combination of server, transport, era and variant."""

    server: str
    transport: str = "stdio"
    era: str = STATEFUL
    tool: str = "spin"
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = (self.server, self.transport, self.era[:4], self.tool, *self.options)
        return " ".join(part.strip("-") for part in parts)

    @property
    def wraps_author(self) -> bool:
        """Does the SDK put a handler of its own around the author's function?"""
        return "lowlevel" not in str(self)

    def argv(self) -> list[str]:
        """The command line, in the environment that has the server's SDK."""
        options = [*(("--http",) if self.transport == "http" else ()), *self.options]
        if self.server.endswith((".mjs", ".cjs")):
            return [lab.runtime(), str(lab.node() / "servers" / self.server), *options]
        environments = {"lowlevel1": "mcp1", "fastmcp1": "mcp1", "fastmcp4": "fastmcp4"}
        name = environments.get(self.server)
        interpreter = str(lab.python(name)) if name else sys.executable
        return [interpreter, str(SERVERS / f"{self.server}.py"), *options]


@dataclass(frozen=True)
class Proof:
    """What was asked, what the server's side files say of it, and how the server ended."""

    opening: list[Exchange]
    calls: list[Exchange]
    files: tuple[ProbeFile, ...]
    exit_code: int
    stderr: bytes

    @property
    def sent(self) -> Calls:
        return columns(self.calls)

    @property
    def joined(self) -> Joined:
        return join(np.concatenate([file.records for file in self.files]), self.sent)

    @property
    def opened(self) -> Joined:
        records = np.concatenate([file.records for file in self.files])
        return join(records, columns(self.opening))


def prove(
    setup: Setup, folder: Path, *, sequential: int = 20, bursts: int = 3, env: dict[str, str]
) -> Proof:
    """Open a session, call one by one and eight at a time, close, read the side files."""
    prefix = folder / "probe-"
    wire = Http if setup.transport == "http" else Stdio
    client = wire(setup.argv(), environment(prefix, env), folder)
    session = Session(client, setup.era)
    try:
        opening = session.open()
        calls: list[Exchange] = []
        for _ in range(sequential):
            calls += session.call(setup.tool, [{"work_ns": 20_000}])
        for _ in range(bursts):
            calls += session.call(setup.tool, [{"work_ns": 20_000}] * 8)
    finally:
        exit_code, stderr = client.close()
    return Proof(opening, calls, read(prefix), exit_code, stderr)


def faults(setup: Setup, proof: Proof) -> list[str]:
    """Every way in which a proof falls short; empty for a probe that saw everything."""
    assert proof.files, "no side file"
    calls, joined, opened = proof.sent, proof.joined, proof.opened
    path = [calls.sent_ns, joined.read_ns, joined.entered_ns, joined.left_ns, joined.writing_ns]
    path.append(calls.received_ns)
    names = ("sent", "read", "entered", "left", "writing", "received")
    found = [f"{name} missing" for name, at in zip(names, path, strict=True) if (at == 0).any()]
    for index in range(5):
        if (path[index] > path[index + 1]).any():
            found.append(f"{names[index]} after {names[index + 1]}")
    inside = [json.loads(call.text) for call in proof.calls]
    if (joined.entered_ns > np.array([times["entered"] for times in inside])).any():
        found.append("entered inside the tool")
    if (joined.left_ns < np.array([times["left"] for times in inside])).any():
        found.append("left inside the tool")
    if not joined.exact.all() or _authored(proof) != len(proof.calls) * setup.wraps_author:
        found.append("work is not the author's own function")
    if (opened.read_ns == 0).any() or (opened.writing_ns == 0).any():
        found.append("read or writing missing for a request that is no tool call")
    return found + _header_faults(proof)


def _authored(proof: Proof) -> int:
    """Records that bracket an author's function inside a handler of the SDK's."""
    return sum(int((file.records["flags"] & AUTHOR > 0).sum()) for file in proof.files)


def _header_faults(proof: Proof) -> list[str]:
    found = [f"error in the probe: {file.last_error}" for file in proof.files if file.errors]
    found += ["dropped records" for file in proof.files if file.drops]
    pids = {json.loads(call.text)["pid"] for call in proof.calls}
    if {file.pid for file in proof.files} != pids:
        found.append("the files are not the serving processes'")
    for file in proof.files:
        first = proof.opening[0]
        times = (file.process_up_ns, file.imports_done_ns or 0, file.first_read_ns or 0)
        if sorted(times) != list(times) or not all(times):
            found.append(f"start out of order or missing: {times}")
        if not first.sent_ns <= times[2] <= first.received_ns:
            found.append("first read is not the first request's")
    return found


def clean(base: dict[str, str] | None = None) -> dict[str, str]:
    """An environment without anything that would change how a child starts."""
    drop = ("PYTHON", "NODE_OPTIONS", "MCP_LATENCY")
    return {k: v for k, v in (base or dict(os.environ)).items() if not k.startswith(drop)}


def lines(proofs: Sequence[tuple[Setup, list[str]]]) -> list[str]:
    """One line of a table per combination."""
    return [f"{setup!s:60} {'; '.join(found) or 'complete'}" for setup, found in proofs]

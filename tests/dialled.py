"""The dial servers, driven as the program drives servers, and what either side saw of each call."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import anyio
import numpy as np
from numpy.typing import NDArray

from bench import host, inside, jsonrpc, probe
from bench.model import Cell, EraName, HttpRecipe, Limits, Reply, Server, Step, Transport, Turn
from bench.process import Environment
from bench.recorder import Asked, Recorder
from bench.segments import MISSING, Stamps
from bench.session import Session, launch
from tests.probe import lab

HERE = Path(__file__).parent / "servers"
CLIENT_POINTS = ("sent", "written", "first_byte", "received", "decoded")
SERVER_POINTS = ("read", "entered", "left", "writing")
APART = host.placement("auto")
SETTLED_S = 0.1
LIMITS = Limits(call_s=60.0, setup_s=60.0)
Where: TypeAlias = tuple[Transport, EraName]
Dials: TypeAlias = Mapping[str, int]
Spins: TypeAlias = Mapping[str, NDArray[np.int64]]
CELLS: tuple[Where, ...] = (
    ("stdio", "stateful"),
    ("stdio", "stateless"),
    ("http", "stateful"),
    ("http", "stateless"),
)


class Seen(NamedTuple):
    """One launch. `stamps`: ns per point and call, as `segments.calls` takes them; `spins`: when
    each dial of each call began and ended by the server's own log, MISSING where it has none;
    `floor`: the cheapest request after each call, ns; `facts`: what the harness noted."""

    marks: Mapping[str, int]
    stamps: Mapping[str, Stamps]
    spins: Spins
    floor: Stamps
    facts: Mapping[str, Any]
    disordered: int


def server(name: str, dials: Dials | None = None) -> Server:
    """A dial server: `none` (no SDK), `mcpserver`, `lowlevel`, `ts1` or `ts2`."""
    command = _command(name)
    url = "http://127.0.0.1:{port}/mcp"
    return Server(
        name=name,
        stdio=command,
        http=HttpRecipe(url=url, command=(*command, "{port}")),
        eras=("stateful",) if name == "ts1" else ("stateful", "stateless"),
        env={"DIALS": json.dumps(dials or {})},
    )


def _command(name: str) -> tuple[str, ...]:
    if name == "none":
        return (sys.executable, "-m", "tests.servers.dials")
    if name.startswith("ts"):
        return ("node", str(_node() / f"dials_{name}.mjs"))
    return (sys.executable, "-m", "tests.servers.dials_python", name)


@cache
def _node() -> Path:
    """Our Node servers, where they find the SDKs."""
    folder = lab.node() / "dials"
    folder.mkdir(exist_ok=True)
    for path in HERE.glob("dials*.mjs"):
        shutil.copy(path, folder / path.name)
    return folder


def cells(name: str) -> list[Where]:
    """The cells this server has."""
    eras = server(name).eras
    return [(transport, era) for transport, era in CELLS if era in eras]


@contextlib.asynccontextmanager
async def opened(
    tested: Server,
    where: Where,
    *,
    side_files: Path | None,
    variables: Mapping[str, str] | None = None,
    apart: bool = True,
) -> AsyncIterator[tuple[Session, Recorder]]:
    """A session that can be called: on the cores that `--pin auto` gives, or on the client's."""
    transport, era = where
    cell = Cell(tested.name, scenario="dials", server=tested.name, transport=transport, era=era)
    recorder = Recorder(Turn(cell, launch=0, round=1), keep_bodies=False)
    environment = Environment(
        variables=variables or {},
        probe=side_files,
        cpus=APART.server if apart else APART.client,
        limit_s=LIMITS.setup_s,
    )
    async with launch(tested, cell, recorder, environment, LIMITS) as session:
        await session.open()
        await session.tools()
        recorder.mark("ready")
        yield session, recorder
        if side_files is not None:
            await anyio.sleep(SETTLED_S)  # Node's records are written late, and lost by SIGTERM


async def drive(
    tested: Server,
    where: Where,
    turns: Sequence[Dials],
    *,
    warmup: int = 0,
    apart: bool = True,
) -> Seen:
    """Open, call once per item of `turns` with its dials turned, a cheapest request after each."""
    with tempfile.TemporaryDirectory() as folder, in_place(), without_gc():
        side_files = None if tested.name == "none" else Path(folder) / "probe-"
        opening = opened(tested, where, side_files=side_files, apart=apart)
        async with opening as (session, recorder):
            for _ in range(warmup):
                await session.call(
                    session.request(Step(tool="turn", arguments={"call": -1, "dials": {}}))
                )
            replies, floors = [], []
            for number, dials in enumerate(turns):
                asked = {"call": number, "dials": dials}
                replies.append(await _called(session, recorder, number, "turn", asked))
                floors.append(_took(await session.call(session.cheapest()[1])))
            log = json.loads(_text(await session.call(session.request(Step(tool="log")))))
        files = probe.read(side_files) if side_files else ()
        return _seen(recorder, replies, np.array(floors, np.int64), log, files)


async def call(tested: Server, where: Where, calls: int) -> Seen:
    """Open, and call so many times the tool that does nothing."""
    with tempfile.TemporaryDirectory() as folder, in_place(), without_gc():
        side_files = Path(folder) / "probe-"
        async with opened(tested, where, side_files=side_files) as (session, recorder):
            replies = [
                await _called(session, recorder, number, "null", {}) for number in range(calls)
            ]
        return _seen(recorder, replies, np.array([], np.int64), (), probe.read(side_files))


async def _called(
    session: Session, recorder: Recorder, number: int, tool: str, arguments: Mapping[str, Any]
) -> Reply:
    out = session.request(Step(tool=tool, arguments=arguments))
    reply = await session.call(out)
    assert reply.outcome == "ok", (reply.outcome, reply.why, reply.body)
    recorder.call(
        reply,
        index=number,
        phase="steady",
        asked=Asked(tool, request_bytes=len(out.body), id=out.id),
    )
    return reply


def _seen(
    recorder: Recorder,
    replies: Sequence[Reply],
    floor: Stamps,
    log: Sequence[tuple[str, int, int, int]],
    files: Sequence[probe.ProbeFile],
) -> Seen:
    count = len(replies)
    spins = _spins(log, count)
    stamps = {
        point: np.array([getattr(reply, f"{point}_ns") for reply in replies], np.int64)
        for point in CLIENT_POINTS
    }
    if not files:  # the server without an SDK stamps its own calls
        stamps |= {point: spins[point][:, 0] for point in SERVER_POINTS if point in spins}
        return Seen(recorder.marks, stamps, spins, floor, recorder.facts, 0)
    found = inside.look(files, recorder.windows, recorder.marks)
    rows = np.array(
        [[MISSING if at is None else at for at in row] for row in found.rows], np.int64
    ).reshape(-1, 5)
    assert len(rows) == count
    stamps |= {point: rows[:, place] for place, point in enumerate(SERVER_POINTS, start=1)}
    marks = {**recorder.marks, **found.marks}
    return Seen(marks, stamps, spins, floor, {**recorder.facts, **found.facts}, found.disordered)


def _spins(log: Sequence[tuple[str, int, int, int]], count: int) -> Spins:
    """The log by point and call; `import` and `serving` are of no call and have one row."""
    spins: dict[str, NDArray[np.int64]] = {}
    for point, call, began, ended in log:
        rows = 1 if point in ("import", "serving") else count
        table = spins.setdefault(point, np.full((rows, 2), MISSING))
        if 0 <= call < rows:
            table[call] = began, ended
    return spins


def _text(reply: Reply) -> str:
    assert reply.outcome == "ok", reply.why
    text: str = jsonrpc.result_of(reply.body)["content"][0]["text"]
    return text


def _took(reply: Reply) -> int:
    assert reply.received_ns is not None, reply.why
    return reply.received_ns - reply.sent_ns


def tell_noise() -> None:
    """How busy the machine is: on a busy one, delays end late and figures miss their targets."""
    print(f"noise: {host.facts()['noise']}", file=sys.stderr)


@contextlib.contextmanager
def in_place() -> Iterator[None]:
    """This thread on the client's core meanwhile."""
    before = os.sched_getaffinity(0)
    host.take_place(APART.client)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """As a launch is driven."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

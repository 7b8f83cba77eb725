"""How fast the instrument is itself, in ratios to the least that its work could cost.

The peers are compiled from pingpong.c. They share one core with our client, and the two sides
of a ratio take turns, each time in fresh processes: the ratio is the median over the turns.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio

from bench import store
from bench.era.stateful import Stateful
from bench.measure import loop_options
from bench.model import Cell, Endpoint, Outgoing, Reply, Turn
from bench.recorder import SYSTEM_CLOCK, Asked, Recorder
from bench.wire import Wire, http, stdio
from tests.dialled import without_gc
from tests.perf import million, rows
from tests.perf.rows import Row

TURNS, WARMUP, EXCHANGES = 9, 500, 2_000
BATCHES, BATCH_CALLS = 200, 500
REPEATS = 3
MILLION = 1_000_000
SOURCE = Path(__file__).with_name("pingpong.c")
COMPILERS = (("cc",), ("gcc",), ("clang",), (sys.executable, "-m", "ziglang", "cc"))
TOOL = "search_tickets"
QUESTION = {"name": TOOL, "arguments": {"query": "refund " * 25, "status": "open", "limit": 3}}


def measure() -> Iterator[Row]:
    """Every row; those that need a compiler say so where there is none."""
    with tempfile.TemporaryDirectory() as folder, _on_one_core():
        program, words = _compiled(Path(folder) / "pingpong")
        for name, target, turn in (
            ("stdio client, ratio to a C ping-pong", 2.0, _stdio_turn),
            ("HTTP client, ratio to bare blocking sockets", 1.2, _http_turn),
        ):
            yield _ratio(name, target, turn, program) if program else Row(name, None, target, words)
        yield Row("stamps and record, µs a call", _record_us(), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        million.write(Path(folder), MILLION)
        yield _timed("a million calls to a report, s", 5.0, "report", folder)
        stored_bytes = (Path(folder) / f"{store.TABLES[0]}.parquet").stat().st_size
        yield Row("stored, bytes a call of five stamps", stored_bytes / MILLION, 12.0)
    yield _timed("--help, s", 0.3, "--help")


def _ratio(
    name: str, target: float, turn: Callable[[Path], tuple[float, float]], program: Path
) -> Row:
    turns = [turn(program) for _ in range(TURNS)]
    floor_us, ours_us = (statistics.median(side) / 1000 for side in zip(*turns, strict=True))
    ratio = statistics.median(ours_ns / floor_ns for floor_ns, ours_ns in turns)
    return Row(name, ratio, target, f"{ours_us:.1f} / {floor_us:.1f} µs")


@contextlib.contextmanager
def _on_one_core() -> Iterator[None]:
    """This process, and all that it starts meanwhile."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _compiled(program: Path) -> tuple[Path | None, str]:
    """The peers as a program, or why there is none."""
    why = []
    for compiler in COMPILERS:
        command = [*compiler, "-O2", "-o", str(program), str(SOURCE)]
        if shutil.which(compiler[0]) is None:
            why.append(f"no {compiler[0]}")
            continue
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return program, ""
        why.append(done.stderr.strip()[:200])
    return None, f"needs a C compiler: {'; '.join(why)}"


def _stdio_turn(program: Path) -> tuple[float, float]:
    """Medians in ns of the C ping-pong, and of our client with the same peer."""
    question = _question(0).body.decode()
    command = [str(program), "ask", str(WARMUP + EXCHANGES), question]
    asked = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    ours = anyio.run(_over_stdio, program, backend_options=loop_options())
    return _median([int(took) for took in asked.stdout.split()]), ours


def _http_turn(program: Path) -> tuple[float, float]:
    """Medians in ns of blocking sockets, and of our client with the same server."""
    with subprocess.Popen([program, "http"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            request = anyio.run(_request_bytes)
            return _over_sockets(port, request), anyio.run(
                _over_http, port, backend_options=loop_options()
            )
        finally:
            server.kill()


async def _over_stdio(program: Path) -> float:
    """Our client against `pingpong lines`."""
    with subprocess.Popen(
        [program, "lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None
        ends = Endpoint(read_fd=os.dup(peer.stdout.fileno()), write_fd=os.dup(peer.stdin.fileno()))
        peer.stdin.close()
        recorder = _recorder()
        wire = await stdio.open(ends, recorder)
        took_ns = await _calls(wire, recorder)
        await wire.close()
        wire.finish()
    return took_ns


async def _over_http(port: int) -> float:
    recorder = _recorder()
    wire = await http.open(Endpoint(url=f"http://127.0.0.1:{port}/mcp"), recorder)
    took_ns = await _calls(wire, recorder)
    await wire.close()
    return took_ns


async def _calls(wire: Wire, recorder: Recorder) -> float:
    """Call as a launch does, and take the median of what the stamps say."""
    took_ns = []
    with without_gc():
        for index in range(WARMUP + EXCHANGES):
            out = _question(index)
            reply = await wire.exchange(out, limit_s=30)
            _record(recorder, out, reply)
            assert reply.received_ns is not None, reply.why
            took_ns.append(reply.received_ns - reply.sent_ns)
    return _median(took_ns)


def _over_sockets(port: int, request: bytes) -> float:
    """The same bytes sent, and the response read to its last byte, with nothing around it."""
    clock, took_ns = SYSTEM_CLOCK, []
    with socket.create_connection(("127.0.0.1", port)) as server, without_gc():
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(WARMUP + EXCHANGES):
            sent_ns = clock()
            server.sendall(request)
            response = server.recv(1 << 16)
            received_ns = clock()
            while not _whole(response):
                response += server.recv(1 << 16)
                received_ns = clock()
            took_ns.append(received_ns - sent_ns)
    return _median(took_ns)


def _whole(response: bytes) -> bool:
    head, blank, body = response.partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    return bool(blank) and len(body) >= int(length)


async def _request_bytes() -> bytes:
    """What our HTTP client sends for a question, from a listener that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
        wire = await http.open(Endpoint(url=url), _recorder())
        await wire.exchange(_question(0), limit_s=0.01)
        await wire.close()
        with door.accept()[0] as sent:
            return sent.recv(1 << 16)


def _record_us() -> float:
    """What a call costs beside its exchange: stamps, two messages and its row, µs."""
    recorder, out = _recorder(), _question(1)
    took_ns = []
    with without_gc():
        for _ in range(BATCHES):
            began_ns = SYSTEM_CLOCK()
            for _ in range(BATCH_CALLS):
                _stamp_and_record(recorder, out)
            took_ns.append(SYSTEM_CLOCK() - began_ns)
            recorder.take()
    return statistics.median(took_ns) / BATCH_CALLS / 1000


def _stamp_and_record(recorder: Recorder, out: Outgoing) -> None:
    clock = recorder.clock
    sent_ns, written_ns, received_ns, decoded_ns = clock(), clock(), clock(), clock()
    recorder.message(sent_ns, "out", "request", out.body, method=out.method, id=out.id)
    recorder.message(received_ns, "in", "response", out.body, id=out.id)
    reply = Reply("ok", sent_ns, written_ns, received_ns, received_ns, decoded_ns, body=out.body)
    _record(recorder, out, reply)


def _record(recorder: Recorder, out: Outgoing, reply: Reply) -> None:
    assert out.id is not None
    recorder.call(
        reply,
        index=out.id,
        phase="steady",
        asked=Asked(TOOL, request_bytes=len(out.body), id=out.id),
    )


def _timed(name: str, target: float, *words: str) -> Row:
    """Seconds from the start of the command to its end, at the best of several."""
    command = [sys.executable, "-m", "bench", *words]
    took_s = []
    for _ in range(REPEATS):
        began_ns = SYSTEM_CLOCK()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        took_s.append((SYSTEM_CLOCK() - began_ns) / 1e9)
        if done.returncode != 0:
            return Row(name, None, target, done.stderr.strip().rpartition("\n")[2])
    return Row(name, min(took_s), target)


def _question(id: int) -> Outgoing:
    return Stateful().request(id, "tools/call", QUESTION)


def _recorder() -> Recorder:
    cell = Cell("floor", scenario="floor", server="pingpong", transport="stdio", era="stateful")
    return Recorder(Turn(cell, launch=0, round=1), keep_bodies=False)


def _median(took_ns: list[int]) -> float:
    return statistics.median(took_ns[WARMUP:])


if __name__ == "__main__":
    sys.exit(rows.main(__doc__.splitlines()[0], measure))

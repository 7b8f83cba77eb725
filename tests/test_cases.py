"""Cases of the field about setup, first calls, our own client and what a figure includes."""

from __future__ import annotations

import socket
import sys

import anyio
import pytest

from bench import tables
from bench.errors import COULD_NOT
from bench.model import Step
from bench.wire.connection import connect
from tests.outside import (
    Program,
    conversing,
    http_server,
    listening,
    module,
    opened,
    port_of,
    stdio_server,
)

MS = 1_000_000


def test_teardown_is_not_part_of_the_setup(program: Program) -> None:
    said = program.run("slow_goodbye", options=["--probe", "off"])
    segments = said.cell["segments"]
    assert segments["teardown"]["p50_ns"] >= 300 * MS
    assert said.run.launch_table["at_closing_ns"].null_count == 0
    closing = tables.stamps(said.run.launch_table, "at_closing_ns")
    ready = tables.stamps(said.run.launch_table, "at_ready_ns")
    assert (ready < closing).all()
    parts = ("first_reply", "initialized", "tools_list", "client")
    assert "teardown" not in parts
    assert segments["setup"]["n"] == 2


def test_a_start_paid_for_every_call_is_told_apart_from_the_call(program: Program) -> None:
    said = program.run("slow_start", options=["--probe", "off"])
    segments = said.cell["segments"]
    assert segments["first_result"]["p50_ns"] >= 300 * MS
    assert segments["first_reply"]["p50_ns"] >= 300 * MS
    assert segments["call"]["p50_ns"] < segments["first_reply"]["p50_ns"]
    assert said.cell["calls"] == 6


def test_our_client_sends_a_request_in_one_piece_and_without_delay() -> None:
    async def exchange() -> tuple[bytes, int]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            connection = await connect("127.0.0.1", port_of(listener), lambda: 0)
            peer, _ = listener.accept()
            with peer:
                no_delay = connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                head = b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"
                connection._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                sent = connection._sock.send(head + b"x" * 1000)
                piece = await anyio.to_thread.run_sync(peer.recv, 1 << 20)
                assert len(piece) == sent
                connection.abort("done")
        return piece, no_delay

    piece, no_delay = conversing(exchange)
    assert piece.startswith(b"POST")
    assert no_delay


@pytest.mark.parametrize("text", ["x", "x" * 100_000])
def test_a_request_reaches_a_server_that_never_delays_its_acknowledgement(text: str) -> None:
    async def exchange(url: str) -> str:
        async with opened(http_server(url)) as (session, _):
            await session.open()
            reply = await session.call(session.request(Step(tool="echo", arguments={"text": text})))
            return reply.outcome

    with listening("trivial_http") as server:
        assert conversing(lambda: exchange(f"{server.base}/mcp")) == "ok"


def test_resolving_and_connecting_are_stamped_apart_and_the_address_is_kept() -> None:
    async def exchange(url: str) -> tuple[dict[str, int], object]:
        async with opened(http_server(url)) as (session, recorder):
            await session.open()
            return recorder.marks, recorder.facts["address"]

    with listening("trivial_http") as server:
        url = f"{server.base}/mcp".replace("127.0.0.1", "localhost")
        marks, address = conversing(lambda: exchange(url))
    path = [marks[point] for point in ("connecting", "resolved", "connected", "initialize_sent")]
    assert path == sorted(path)
    assert address == "127.0.0.1"


def test_an_answer_that_was_never_flushed_is_told_from_silence(program: Program) -> None:
    command = module("unflushed")
    said = program("run", "--setup-timeout", "0.3", "--era", "stateful", "--", *command)
    assert said.code == COULD_NOT
    assert "no reply within 0.3 s" in said.err
    assert "it was produced but not flushed" in said.err
    assert said.left == []


@pytest.mark.parametrize("way", ["serial", "threaded"])
def test_waiting_in_a_server_that_does_one_thing_at_a_time_is_seen(way: str) -> None:
    async def exchange() -> list[tuple[int, int]]:
        windows: list[tuple[int, int]] = []

        async with opened(stdio_server("queue", way)) as (session, _):
            await session.open()

            async def call() -> None:
                reply = await session.call(session.request(Step(tool="echo")))
                assert reply.received_ns is not None
                windows.append((reply.sent_ns, reply.received_ns))

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(call)
        return windows

    windows = sorted(conversing(exchange))
    latencies = sorted(received - sent for sent, received in windows)
    first_sent, last_received = windows[0][0], max(received for _, received in windows)
    parallelism = sum(latencies) / (last_received - first_sent)
    assert latencies[0] >= 100 * MS
    if way == "serial":
        assert latencies[1] >= 190 * MS
        assert latencies[2] >= 290 * MS
        assert last_received - first_sent >= 290 * MS
    else:
        assert parallelism > 1.5


def test_a_module_that_sleeps_at_its_top_is_charged_to_imports(program: Program) -> None:
    said = program("run", "--era", "stateful", "-r", "1", "-n", "3", "--json", "--",
                   sys.executable, "-m", "tests.servers.late_sdk")  # fmt: skip
    segments = said.cell["segments"]
    assert segments["imports"]["p50_ns"] >= 300 * MS
    assert segments["initialize"]["p50_ns"] < segments["imports"]["p50_ns"]
    assert any("imports are" in finding for finding in said.cell["findings"])

"""Cases of the field about setup, first calls, our own client and what a figure includes."""

from __future__ import annotations

import socket
import sys

import anyio
import pytest

from bench import tables
from bench.errors import COULD_NOT, FINE
from bench.model import Step
from tests.outside import (
    QUICK,
    Program,
    connected,
    conversing,
    http_server,
    listening,
    module,
    opened,
    port_of,
    stdio_server,
)
from tests.talking import calls, heard_out, kinds, ready
from tests.talking import said as text_of

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
            connection = await connected(port_of(listener), lambda: 0)
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


def test_a_pool_that_is_full_lets_the_others_wait_for_a_whole_turn() -> None:
    async def exchange() -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []

        async with opened(stdio_server("pool")) as (session, _):
            await session.open()

            async def call() -> None:
                reply = await session.call(session.request(Step(tool="echo")))
                assert reply.received_ns is not None
                found.append((reply.sent_ns, reply.received_ns, text_of(reply)))

            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(call)
        return found

    found = conversing(exchange)
    latencies = sorted(received - sent for sent, received, _ in found)
    assert latencies[0] >= 100 * MS
    assert latencies[4] >= 190 * MS
    assert max(int(seen) for _, _, seen in found) == 4


def test_our_client_sends_one_request_at_a_time_and_waits() -> None:
    async def exchange() -> list[str]:
        async with opened(stdio_server("two_at_a_time")) as (session, _):
            await ready(session)
            return [text_of(reply) for reply in await calls(session, 5)]

    assert set(conversing(exchange)) <= {"1", "2"}  # `initialized` and what follows may meet


def test_a_list_that_is_said_to_have_changed_is_not_asked_for_again() -> None:
    async def exchange() -> list[str]:
        async with opened(stdio_server("changes_idly")) as (session, recorder):
            await ready(session)
            found = [text_of(reply) for reply in await calls(session, 5)]
            await heard_out(session)
            assert kinds(recorder)["in", "notification"] >= 3 * 7
        return found

    assert conversing(exchange) == ["1"] * 5


@pytest.mark.parametrize(("way", "buffered"), [("direct", False), ("buffered", True)])
def test_events_that_are_held_back_on_the_way_are_told(
    program: Program, way: str, buffered: bool
) -> None:
    with listening("http_progress") as server:
        said = program("run", "--url", f"{server.base}/{way}", "--json", *QUICK)
    assert said.verdict == FINE, said.err
    told = [each for each in said.cell["warnings"] if "buffered on the way" in each]
    assert bool(told) is buffered
    assert said.cell["wire"]["notifications"] > 0


def test_a_reply_that_was_compressed_unasked_is_named() -> None:
    async def exchange(url: str) -> str:
        async with opened(http_server(url)) as (session, _):
            await ready(session)
            (reply,) = await calls(session, 1)
            assert reply.outcome == "transport_error"
            return reply.why

    with listening("http_progress") as server:
        why = conversing(lambda: exchange(f"{server.base}/gzip"))
    assert why == "unexpected_content_encoding: gzip, not identity"


def test_much_on_standard_error_is_doubted_and_little_is_not(program: Program) -> None:
    loud, quiet = program.run("floods_stderr").cell, program.run("trivial").cell
    (told,) = [each for each in loud["warnings"] if "standard error" in each]
    assert "KiB to standard error a call" in told
    assert not any("standard error" in each for each in quiet["warnings"])


def test_a_module_that_sleeps_at_its_top_is_charged_to_imports(program: Program) -> None:
    said = program("run", "--era", "stateful", "-r", "1", "-n", "3", "--json", "--",
                   sys.executable, "-m", "tests.servers.late_sdk")  # fmt: skip
    segments = said.cell["segments"]
    assert segments["imports"]["p50_ns"] >= 300 * MS
    assert segments["initialize"]["p50_ns"] < segments["imports"]["p50_ns"]
    assert any("imports are" in finding for finding in said.cell["findings"])


def test_a_start_for_each_call_is_a_policy_of_its_own_with_its_parts(program: Program) -> None:
    said = program.run("slow_start", options=["--policy", "reuse,one-per-call"])
    reuse, each = said.document["cells"]
    assert {each["variant"]["policy"], reuse["variant"]["policy"]} == {"one-per-call", "reuse"}
    if reuse["variant"]["policy"] != "reuse":
        reuse, each = each, reuse
    assert (reuse["calls"], each["calls"]) == (6, 2)
    assert each["segments"]["call"]["n"] == each["segments"]["setup"]["n"] == 2
    assert each["segments"]["first_result"]["p50_ns"] >= 300 * MS
    (words,) = [line for line in each["findings"] if line.startswith("a start for each call")]
    assert "setup" in words
    assert "teardown" in words
    assert not [line for line in reuse["findings"] if line.startswith("a start for each call")]

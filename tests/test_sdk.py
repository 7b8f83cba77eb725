"""The official SDK's client under our clock: what is in its time, and what its failures are."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import mcp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import sdk_session
from bench.clients import CLIENTS
from bench.errors import SetupError
from bench.model import Cell, Endpoint, EraName, Limits, Server, Step, Turn
from bench.process import Environment
from bench.recorder import SYSTEM_CLOCK, Recorder
from bench.wire.heard import Heard
from bench.wire.sdk import SdkClient, is_theirs
from bench.wire.tap import Ask, Entry
from tests.outside import Program, conversing, http_server, listener, listening, port_of
from tests.outside import stdio_server as piped

FEW = 3
LIMITS = Limits(call_s=20.0, setup_s=20.0)


class Watchful(Recorder):
    """A recorder that knows when it was told of each message."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn, keep_bodies=True)
        self.told_ns: list[int] = []

    def message(self, *what: Any, **more: Any) -> None:
        """As ever, and when."""
        self.told_ns.append(SYSTEM_CLOCK())
        super().message(*what, **more)


@contextlib.asynccontextmanager
async def _connected(
    server: Server, era: EraName = "stateful", limits: Limits = LIMITS
) -> AsyncIterator[tuple[sdk_session.SdkSession, Watchful]]:
    """The SDK's client, pinned to an era, with nothing said yet."""
    (transport, *_) = server.transports
    cell = Cell(name="cell", scenario="", server=server.name, transport=transport, era=era)
    recorder = Watchful(Turn(cell=cell, launch=0, round=0))
    launch = CLIENTS["sdk"](server, cell, recorder, Environment(limit_s=20.0), limits)
    async with launch as session:
        assert isinstance(session, sdk_session.SdkSession)
        yield session, recorder


async def _timed(session: sdk_session.SdkSession, recorder: Watchful) -> None:
    """Each call's messages are told after it has returned, and before anybody asks for them."""
    await session.open()
    for _ in range(FEW):
        recorder.told_ns.clear()
        reply = await session.call(session.request(Step(tool="echo", arguments={"text": "hi"})))
        assert reply.outcome == "ok", reply.why
        assert reply.received_ns is not None
        assert len(recorder.told_ns) >= 2 * reply.wire_requests
        assert min(recorder.told_ns) >= reply.received_ns


def test_nothing_is_recorded_before_a_call_has_returned_over_a_pipe() -> None:
    async def main() -> None:
        async with _connected(piped("trivial")) as (session, recorder):
            await _timed(session, recorder)

    conversing(main)


@pytest.mark.parametrize("era", ["stateful", "stateless"])
def test_nothing_is_recorded_before_a_call_has_returned_over_http(era: EraName) -> None:
    async def main(url: str) -> None:
        async with _connected(http_server(url), era) as (session, recorder):
            await _timed(session, recorder)

    with listening("trivial_http") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


def test_what_a_silent_call_has_sent_is_told_when_rows_are_taken() -> None:
    async def main() -> None:
        limits = Limits(call_s=0.2, setup_s=20.0)
        async with _connected(piped("silent", "tools/call"), limits=limits) as (session, recorder):
            await session.open()
            recorder.take()
            reply = await session.call(session.request(Step(tool="echo")))
            assert (reply.outcome, reply.why) == ("timeout", "no reply within 0.2 s")
            assert reply.received_ns is None
            messages, _ = recorder.take()
            assert next(row[3] for row in messages if row[1] == "out") == "tools/call"

    conversing(main)


def test_a_launch_over_http_begins_before_the_http_client_is_made_and_connecting_after() -> None:
    async def main(url: str) -> None:
        async with _connected(http_server(url)) as (session, recorder):
            await session.open()
            reply = await session.call(session.request(Step(tool="echo")))
        points = ("began", "connecting", "connected", "initialize_sent", "initialize_received")
        stamps = [recorder.marks[point] for point in points]
        assert stamps == sorted(set(stamps))
        assert reply.out_ns is not None

    with listening("trivial_http") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


def test_a_connection_that_no_opening_has_made_is_part_of_the_first_call_and_named_in_it() -> None:
    async def main(url: str) -> None:
        async with _connected(http_server(url), "stateless") as (session, recorder):
            await session.open()
            assert not {"connecting", "connected"} & set(recorder.marks)
            first = await session.call(session.request(Step(tool="echo")))
            path = (first.sent_ns, first.connecting_ns, first.connected_ns, first.out_ns)
            stamps = [each for each in path if each is not None]
            assert stamps == sorted(set(stamps))
            assert len(stamps) == 4
            later = await session.call(session.request(Step(tool="echo")))
            assert (later.outcome, later.connecting_ns, later.connected_ns) == ("ok", None, None), (
                later.why
            )
            assert later.local_port is not None
        assert recorder.counts["connections_opened"] >= 1

    with listening("trivial_http") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


def _refused(server: Server, setup_s: float = 20.0) -> SetupError:
    """What an opening that fails says of itself."""

    async def main() -> SetupError:
        async with _connected(server, limits=Limits(call_s=20.0, setup_s=setup_s)) as (session, _):
            with pytest.raises(SetupError) as caught:
                await session.open()
        return caught.value

    return conversing(main)


def test_an_opening_without_an_answer_is_a_timeout() -> None:
    error = _refused(piped("silent"), setup_s=0.3)
    assert error.outcome == "timeout"
    assert "no connection within 0.3 s" in str(error)


def test_an_opening_that_is_refused_says_so_and_not_that_it_took_too_long() -> None:
    with listener() as closed:
        port = port_of(closed)
    error = _refused(http_server(f"http://127.0.0.1:{port}/mcp"))
    assert error.outcome == "transport_error"
    assert "no connection within" not in str(error)


def test_a_fault_of_our_own_is_raised_as_it_is_and_once() -> None:
    async def main(url: str) -> None:
        recorder = Watchful(Turn(cell=_cell(), launch=0, round=0))
        client = SdkClient(Endpoint(url=url), recorder, {"no_such_option": 1})
        with pytest.raises(TypeError, match="no_such_option"):
            await client.open(20.0)
        assert client.closed
        await client.close()

    with listening("trivial_http") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


def test_a_runtime_error_is_the_sdks_where_the_sdk_raised_it_and_ours_anywhere_else() -> None:
    with pytest.raises(RuntimeError) as caught:
        print(mcp.Client("http://127.0.0.1:1/mcp").session)
    assert is_theirs(caught.value)
    with pytest.raises(RuntimeError) as caught:
        _fail()
    assert not is_theirs(caught.value)


def test_a_runtime_error_of_ours_in_a_call_is_no_outcome_of_it() -> None:
    async def main() -> None:
        async def make() -> object:
            return _fail()

        async with _connected(piped("trivial")) as (session, _):
            await session.open()
            with pytest.raises(RuntimeError, match="ours"):
                await session.call(Ask("tools/call", make))

    conversing(main)


def test_bytes_that_are_no_text_end_the_sdks_client_and_that_is_said(program: Program) -> None:
    said = program.run("broken_lines", "byte", options=["--client", "sdk"])
    assert said.left == []
    told = "its client ended: 'utf-8' codec can't decode byte 0x97"
    assert all(told in each for each in said.cell["warnings"][:2])
    assert (said.cell["failed_launches"], said.cell["failed_calls"]) == (2, 2)


LINES = (
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
    b"no message\n"
    b'{"jsonrpc":"2.0","id":7,"result":{}}\r\n'
)


@given(st.lists(st.integers(0, len(LINES)), max_size=8), st.integers(0, 9))
def test_what_was_kept_is_told_alike_in_any_chunks_and_any_portions(
    cuts: list[int], portion: int
) -> None:
    ends = sorted({*cuts, len(LINES)})
    chunks = [LINES[a:b] for a, b in zip([0, *ends], ends, strict=False) if a < b]
    entries: list[Entry] = [("in", 10, chunk, None) for chunk in chunks]
    assert _told([entries[:portion], entries[portion:]]) == [
        ("notification", None),
        ("noise", None),
        ("response", "7"),
    ]


def _told(portions: Sequence[Sequence[Entry]]) -> list[tuple[str, str | None]]:
    recorder = Recorder(Turn(cell=_cell(), launch=0, round=0), keep_bodies=True)
    heard = Heard(recorder)
    for entries in portions:
        heard.hear(entries)
    return [(each.kind, each.id) for each in recorder.transcript]


def _cell() -> Cell:
    return Cell(name="cell", scenario="", server="", transport="http", era="stateful")


def _fail() -> object:
    raise RuntimeError("ours")

"""What a server may make us keep has a limit, which is named; what came before it is not lost."""

from __future__ import annotations

import pytest

from bench.errors import COULD_NOT, INVALID
from bench.model import Cell, Limits, Turn
from bench.recorder import FULL, LONGEST_NAME, Recorder
from bench.wire.connection import MOST_HEAD_BYTES
from bench.wire.http import MOST_ANSWERS
from bench.wire.lines import LineReader, MessageTooLong
from bench.wire.sse import SseReader
from tests.outside import (
    Program,
    conversing,
    http_server,
    listening,
    opened,
    stdio_server,
)
from tests.talking import calls, ready

CELL = Cell(name="cell", scenario="", server="s", transport="stdio", era="stateful")
LIMIT = 10_000
LIMITED = Limits(call_s=20.0, setup_s=20.0, message_bytes=LIMIT)


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, LIMIT * 3])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(chunk_bytes: int, end: bytes) -> None:
    longest = b"x" * 100

    def read(data: bytes) -> list[bytes]:
        reader = LineReader(limit_bytes=100)
        pieces = [data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes)]
        return [line for piece in pieces for line in reader.feed(piece)]

    assert read(longest + end + b"2" + end) == [longest, b"2"]
    with pytest.raises(MessageTooLong, match="limit of 100 bytes; try: a larger --max-message"):
        read(longest + b"x" + end)


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, LIMIT * 3])
def test_an_event_may_be_as_long_as_the_limit_and_no_longer(chunk_bytes: int) -> None:
    longest = b"x" * 49 + b"\n" + b"y" * 50

    def read(data: bytes) -> list[bytes]:
        reader = SseReader(limit_bytes=100)
        pieces = [data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes)]
        return [event for piece in pieces for event in reader.feed(piece)]

    def event(data: bytes) -> bytes:
        return b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"

    assert read(event(longest) + event(b"2")) == [longest, b"2"]
    with pytest.raises(MessageTooLong, match="100 bytes"):
        read(event(longest + b"y"))


@pytest.mark.parametrize("piece", [b"data: x\n", b"data\n", b"data: " + b"x" * 90, b"x"])
def test_an_event_that_never_ends_is_given_up_whatever_its_pieces(piece: bytes) -> None:
    reader = SseReader(limit_bytes=100)
    held: list[int] = []

    def feed_for_ever() -> None:
        for _ in range(1_000):
            reader.feed(piece)
            held.append(reader.held_bytes)

    with pytest.raises(MessageTooLong):
        feed_for_ever()
    assert max(held) <= 100 + len(b"data: ") + 1
    assert reader.held_bytes == 0


def test_comments_that_keep_a_stream_alive_are_never_too_much() -> None:
    reader = SseReader(limit_bytes=100)
    for _ in range(1_000):
        assert reader.feed(b": still here\n") == []
        assert reader.feed(b": and he") == []
        assert reader.feed(b"re\n") == []
    assert reader.held_bytes == 0


@pytest.mark.parametrize("chunk_bytes", [1, 1_000])
def test_a_line_that_is_no_data_has_the_same_limit_in_any_chunks(chunk_bytes: int) -> None:
    data = b"data: 1\n\nevent: " + b"x" * 200 + b"\n\n"
    reader = SseReader(limit_bytes=100)
    found: list[bytes] = []

    def read() -> None:
        for at in range(0, len(data), chunk_bytes):
            found.extend(reader.feed(data[at : at + chunk_bytes]))

    with pytest.raises(MessageTooLong) as error:
        read()
    assert [*found, *error.value.before] == [b"1"]


def test_what_came_whole_in_one_piece_with_too_much_is_kept() -> None:
    with pytest.raises(MessageTooLong) as lines:
        LineReader(limit_bytes=10).feed(b"1\n22\n" + b"x" * 12)
    assert lines.value.before == [b"1", b"22"]
    with pytest.raises(MessageTooLong) as events:
        SseReader(limit_bytes=10).feed(b"data: 1\n\ndata: 22\n\ndata: " + b"x" * 11)
    assert events.value.before == [b"1", b"22"]


def test_a_reply_over_the_limit_fails_its_call_with_the_limit_over_stdio() -> None:
    async def main() -> None:
        async with opened(stdio_server("trivial"), limits=LIMITED) as (session, _):
            await ready(session)
            (short,) = await calls(session, 1)
            (long,) = await calls(session, 1, "x" * LIMIT)
            assert (short.outcome, long.outcome) == ("ok", "transport_error")
            assert f"longer than the limit of {LIMIT} bytes" in long.why
            assert await session.lost(long)

    conversing(main)


@pytest.mark.parametrize("path", ["json-length", "json-chunked", "sse-length", "sse-chunked"])
def test_a_reply_over_the_limit_fails_its_call_with_the_limit_over_http(path: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url), limits=LIMITED) as (session, _):
            await ready(session)
            one, long, other = [
                *await calls(session, 1),
                *await calls(session, 1, "x" * LIMIT),
                *await calls(session, 1),
            ]
            assert [each.outcome for each in (one, other)] == ["ok", "ok"]
            assert long.outcome == "transport_error"
            assert f"longer than the limit of {LIMIT} bytes" in long.why

    with listening("http_forms") as server:
        conversing(lambda: main(f"{server.base}/{path}"))


def test_the_limit_is_an_option_and_its_error_names_it(program: Program) -> None:
    said = program.run("trivial", options=["--max-message", "100"])
    assert said.code == COULD_NOT
    assert (
        "a message is longer than the limit of 100 bytes; try: a larger --max-message" in said.err
    )
    assert said.left == []


@pytest.mark.parametrize("part", ["name", "value", "fields", "reason", "trailer", "extension"])
def test_a_response_that_never_gets_to_its_body_is_given_up_at_a_limit(part: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, _):
            await ready(session)
            (endless, good) = await calls(session, 2)
            assert endless.outcome == "transport_error"
            assert f"header_too_long: more than {MOST_HEAD_BYTES} bytes" in endless.why
            assert good.outcome == "ok"

    with listening("http_endless") as server:
        conversing(lambda: main(f"{server.base}/{part}"))


def test_a_server_that_asks_and_never_reads_is_given_up(program: Program) -> None:
    said = program.run("asks_deaf", options=["-r", "1"])
    assert said.code == COULD_NOT
    assert "answers_not_read" in said.err
    assert said.left == []


def test_a_flood_of_requests_over_http_opens_a_bounded_number_of_connections() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            (reply,) = await calls(session, 1)
            assert reply.outcome == "ok"
        asked = recorder.counts["server_requests"]
        assert asked == 1_000
        assert asked > recorder.counts["unanswered_requests"] >= asked - 2 * MOST_ANSWERS

    with listening("http_asks_flood") as server:
        conversing(lambda: main(f"{server.base}/mcp"))
        assert server.seen()["connections"] <= 3 * MOST_ANSWERS


def test_an_error_code_that_no_program_can_mean_is_stored_as_none(program: Program) -> None:
    said = program.run("broken_lines", "code")
    assert said.code == INVALID
    assert said.cell["outcomes"]["ok"] == 6
    codes = {row["error_code"] for row in said.run.call_table.to_pylist()}
    assert codes == {0, None}


def test_a_transcript_has_a_limit_and_says_where_it_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.recorder.MOST_KEPT_BYTES", 5_000)

    async def main() -> None:
        async with opened(stdio_server("floods_notifications")) as (session, recorder):
            await ready(session)
            (reply,) = await calls(session, 1)
            assert reply.outcome == "ok"
        *_, last = recorder.transcript
        assert last.body == FULL
        assert 5 < len(recorder.transcript) < 50
        assert recorder.counts["left_out_of_transcript"] > 9_900
        messages, _ = recorder.take()
        assert len(messages) > 10_000

    conversing(main)


def test_a_name_of_megabytes_is_cut_in_what_is_kept() -> None:
    recorder = Recorder(Turn(cell=CELL, launch=0, round=0), keep_bodies=False)
    recorder.message(1, "in", "request", b"{}", method="m" * 10_000, id="i" * 10_000)
    ((_, _, _, method, id, *_),) = recorder.take()[0]
    assert (method, id) == ("m" * LONGEST_NAME, "i" * LONGEST_NAME)


def test_the_members_of_a_batch_are_messages_like_others() -> None:
    async def main() -> None:
        async with opened(stdio_server("broken_lines", "batch")) as (session, recorder):
            await ready(session)
            assert [reply.outcome for reply in await calls(session, 2)] == ["ok", "ok"]
        assert recorder.counts.get("noise_lines", 0) == 0
        assert recorder.counts["batches"] == 1
        methods = [each.method for each in recorder.transcript if each.kind == "notification"]
        assert "notifications/message" in methods

    conversing(main)

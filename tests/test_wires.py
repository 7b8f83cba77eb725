"""What the wires make of every way in which a server may speak, right or wrong."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import anyio
import pytest

from bench import jsonrpc
from bench.errors import SetupError
from bench.model import EraName, Limits, Reply, Step
from bench.recorder import Recorder
from tests.outside import (
    conversing,
    http_server,
    listening,
    opened,
    stdio_server,
)
from tests.talking import calls, heard_out, in_order, kinds, ready, said

VERSIONS: Sequence[tuple[EraName, str]] = (
    ("stateful", "2024-11-05"),
    ("stateful", "2025-03-26"),
    ("stateful", "2025-06-18"),
    ("stateful", "2025-11-25"),
    ("stateless", "2026-07-28"),
)
HASTY = Limits(call_s=0.2, setup_s=20.0)


@pytest.mark.parametrize(("era", "version"), VERSIONS)
def test_every_version_is_spoken_over_stdio_and_over_http(era: EraName, version: str) -> None:
    async def main(where: str | None) -> None:
        server = stdio_server("trivial") if where is None else http_server(where)
        async with opened(server, era=era, version=version) as (session, recorder):
            agreement = await session.open()
            assert agreement.protocol_version == version
            await session.tools()
            assert [said(reply) for reply in await calls(session, 2, "ß")] == ["ß", "ß"]
        ids = [each.id for each in recorder.transcript if each.kind == "request"]
        assert len(ids) == len(set(ids)) == 4
        assert not recorder.counts.keys() & {"stray_replies", "duplicate_replies"}

    conversing(lambda: main(None))
    with listening("trivial_http") as server:
        conversing(lambda: main(f"{server.base}/mcp"))
        seen = server.seen()
    assert seen["connections"] == 1
    assert [each["verb"] for each in seen["requests"]] == ["POST"] * len(seen["requests"])
    later = seen["requests"][1 if era == "stateful" else 0 :]
    named = {each["headers"].get("mcp-protocol-version") for each in later}
    assert named == {version if version >= "2025-06-18" else None}


def test_replies_are_matched_by_id_alone() -> None:
    async def main() -> None:
        async with opened(stdio_server("out_of_order")) as (session, recorder):
            await ready(session)
            replies: dict[int, Reply] = {}

            async def ask(number: int) -> None:
                out = session.request(Step(tool="echo", arguments={"text": str(number)}))
                replies[number] = await session.call(out)

            async with anyio.create_task_group() as tasks:
                for number in range(3):
                    tasks.start_soon(ask, number)
            assert [said(replies[number]) for number in range(3)] == ["0", "1", "2"]
            last, middle, first = (replies[number].received_ns for number in (2, 1, 0))
            assert first is not None
            assert last is not None
            assert middle is not None
            assert last <= middle <= first
            await heard_out(session)
        assert recorder.counts["stray_replies"] == 6
        assert recorder.counts["duplicate_replies"] == 3
        assert kinds(recorder)["in", "notification"] == 3

    conversing(main)


def _check_asking(recorder: Recorder, reply: Reply) -> None:
    """The server got both answers under the ids it asked with, which were those of our call."""
    pong, refused = ast.literal_eval(said(reply))
    assert pong == {"jsonrpc": "2.0", "id": pong["id"], "result": {}}
    assert refused["id"] == pong["id"]
    assert refused["error"]["code"] == jsonrpc.METHOD_NOT_FOUND
    assert recorder.counts["server_requests"] == 2
    assert kinds(recorder)["out", "response"] == 2
    assert recorder.counts.get("stray_replies", 0) == 0


def test_a_server_that_asks_in_the_middle_of_a_call_is_answered_at_once_over_stdio() -> None:
    async def main() -> None:
        async with opened(stdio_server("asks_midcall")) as (session, recorder):
            await ready(session)
            (reply,) = await calls(session, 1)
        _check_asking(recorder, reply)

    conversing(main)


def test_a_server_that_asks_in_the_middle_of_a_call_is_answered_at_once_over_http() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            (reply,) = await calls(session, 1)
        _check_asking(recorder, reply)

    with listening("http_asks_midcall") as server:
        conversing(lambda: main(f"{server.base}/mcp"))
        answers = [each for each in server.seen()["requests"] if "result" in each["message"]]
    assert len(answers) == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_ten_thousand_notifications_before_a_reply_are_counted_and_lose_nothing(
    transport: str,
) -> None:
    async def main(where: str | None) -> None:
        server = http_server(where) if where else stdio_server("floods_notifications")
        async with opened(server) as (session, recorder):
            await ready(session)
            (reply,) = await calls(session, 1, "after the flood")
            assert said(reply) == "after the flood"
            assert in_order(reply)
            last = recorder.transcript[-1]
            assert (last.kind, last.at_ns) == ("response", reply.received_ns)
        assert kinds(recorder)["in", "notification"] == 10_000

    if transport == "stdio":
        conversing(lambda: main(None))
    else:
        with listening("http_flood") as server:
            conversing(lambda: main(f"{server.base}/mcp"))


def test_messages_of_megabytes_pass_both_ways_while_the_server_does_not_read() -> None:
    async def main() -> None:
        async with opened(stdio_server("talks_first")) as (session, recorder):
            await ready(session)
            replies: list[Reply] = []

            async def ask() -> None:
                out = session.request(Step(tool="echo", arguments={"text": "y" * 200_000}))
                replies.append(await session.call(out))

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(ask)
            assert [len(said(reply)) for reply in replies] == [1 << 20] * 3
            assert all(in_order(reply) for reply in replies)
        assert recorder.counts.get("noise_lines", 0) == 0

    conversing(main)


def test_noise_and_blank_lines_are_counted_and_shift_no_reply() -> None:
    async def main() -> None:
        async with opened(stdio_server("noisy")) as (session, recorder):
            await ready(session)
            for number in range(6):
                (reply,) = await calls(session, 1, str(number))
                assert said(reply) == str(number)
        assert recorder.counts["noise_lines"] == 2
        assert recorder.counts["blank_lines"] == 2
        assert recorder.noise == [b"Ready on stdio", b"debug: x"]

    conversing(main)


def test_a_notification_before_the_first_reply_is_not_taken_for_it() -> None:
    async def main() -> None:
        async with opened(stdio_server("early_notification")) as (session, recorder):
            assert (await session.open()).server_info["name"] == "trivial"
        first = next(each for each in recorder.transcript if each.direction == "in")
        assert first.method == "notifications/tools/list_changed"

    conversing(main)


def test_odd_but_valid_lines_are_one_message_each_and_their_text_is_intact() -> None:
    async def main() -> None:
        async with opened(stdio_server("odd_lines")) as (session, recorder):
            await ready(session)
            replies = await calls(session, 5)
            assert [said(each) for each in replies] == [
                "odd",
                "od\u2028\u2029\u0085d",
                "odd",
                "o\x0bdd",
                "odd",
            ]
            first_byte_ns, received_ns = replies[-1].first_byte_ns, replies[-1].received_ns
            assert first_byte_ns is not None
            assert received_ns is not None
            assert first_byte_ns <= received_ns
        assert recorder.counts.get("noise_lines", 0) == 0

    conversing(main)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("byte", "invalid_utf8: byte 0x97 at offset"),
        ("pretty", "embedded_newline"),
        ("nan", "invalid_json: NaN is no JSON"),
        ("half", "invalid_json: \\ud83d is half of a surrogate pair"),
    ],
)
def test_a_reply_that_can_never_be_read_ends_its_call_with_its_name(fault: str, named: str) -> None:
    async def main() -> None:
        async with opened(stdio_server("broken_lines", fault)) as (session, _):
            await ready(session)
            broken, good = await calls(session, 2)
            assert broken.outcome == "transport_error"
            assert named in broken.why
            assert good.outcome == "ok"

    conversing(main)


def test_headers_of_language_servers_are_told_at_the_first_line() -> None:
    async def main() -> None:
        async with opened(stdio_server("broken_lines", "lsp")) as (session, _):
            with pytest.raises(SetupError, match="lsp_framing"):
                await session.open()

    conversing(main)


def test_a_log_that_prints_braces_ends_no_call() -> None:
    async def main() -> None:
        async with opened(stdio_server("broken_lines", "log")) as (session, recorder):
            await ready(session)
            assert [reply.outcome for reply in await calls(session, 2)] == ["ok", "ok"]
            assert recorder.counts["noise_lines"] == 4

    conversing(main)


def test_a_message_cut_by_the_end_of_the_server_is_named_with_its_length() -> None:
    async def main() -> None:
        async with opened(stdio_server("cuts_message")) as (session, _):
            await ready(session)
            (reply,) = await calls(session, 1)
            assert reply.outcome == "transport_error"
            assert "in the middle of a message, after 65536 bytes of it" in reply.why
            assert await session.lost(reply)
            (next_one,) = await calls(session, 1)
            assert next_one.outcome == "transport_error"

    conversing(main)


def test_a_late_reply_is_no_reply_to_the_next_call() -> None:
    async def main() -> None:
        async with opened(stdio_server("out_of_order"), limits=HASTY) as (session, recorder):
            await ready(session)
            replies = await calls(session, 3)  # it answers all three when it has the third
            assert [each.outcome for each in replies] == ["timeout", "timeout", "ok"]
            assert "no reply within 0.2 s" in replies[0].why
            await heard_out(session)
        assert recorder.counts["duplicate_replies"] == 2 * 2 + 1

    conversing(main)

"""What the wires make of every way in which a server may speak, right or wrong."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from bench import jsonrpc
from bench.model import EraName, Limits, Outgoing, Reply
from bench.recorder import Recorder
from bench.session import Session
from tests.outside import Listening, conversing, http_server, listening, opened, stdio_server

VERSIONS: Sequence[tuple[EraName, str]] = (
    ("stateful", "2024-11-05"),
    ("stateful", "2025-03-26"),
    ("stateful", "2025-06-18"),
    ("stateful", "2025-11-25"),
    ("stateless", "2026-07-28"),
)
FORMS = ("json-length", "json-chunked", "json-end", "sse-length", "sse-chunked", "sse-end")
HASTY = Limits(call_s=0.2, setup_s=20.0)


async def _ready(session: Session) -> None:
    await session.open()
    await session.tools()


async def _calls(session: Session, count: int, text: str = "hi") -> list[Reply]:
    return [await session.call(session.request("echo", {"text": text})) for _ in range(count)]


async def _heard_out(session: Session) -> None:
    """Wait for all that the server has written so far: a pipe keeps the order."""
    _, ping = session.cheapest()
    assert (await session.call(ping)).outcome == "ok"


def _said(reply: Reply) -> str:
    """The text of a reply, which must be ok."""
    assert reply.outcome == "ok", reply.why
    text: str = jsonrpc.result_of(reply.body)["content"][0]["text"]
    return text


def _in_order(reply: Reply) -> bool:
    stamps = (reply.sent_ns, reply.first_byte_ns, reply.received_ns, reply.decoded_ns)
    known = [stamp for stamp in stamps if stamp is not None]
    return len(known) == 4 and known == sorted(known)


def _kinds(recorder: Recorder) -> Counter[tuple[str, str]]:
    return Counter((each.direction, each.kind) for each in recorder.transcript)


# -- both wires ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("era", "version"), VERSIONS)
def test_every_version_is_spoken_over_stdio_and_over_http(era: EraName, version: str) -> None:
    async def main(where: str | None) -> None:
        server = stdio_server("trivial") if where is None else http_server(where)
        async with opened(server, era=era, version=version) as (session, recorder):
            agreement = await session.open()
            assert agreement.protocol_version == version
            await session.tools()
            assert [_said(reply) for reply in await _calls(session, 2, "ß")] == ["ß", "ß"]
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
            await _ready(session)
            replies: dict[int, Reply] = {}

            async def ask(number: int) -> None:
                out = session.request("echo", {"text": str(number)})
                replies[number] = await session.call(out)

            async with anyio.create_task_group() as tasks:
                for number in range(3):
                    tasks.start_soon(ask, number)
            assert [_said(replies[number]) for number in range(3)] == ["0", "1", "2"]
            last, middle, first = (replies[number].received_ns for number in (2, 1, 0))
            assert first is not None
            assert last is not None
            assert middle is not None
            assert last <= middle <= first
            await _heard_out(session)
        assert recorder.counts["stray_replies"] == 6
        assert recorder.counts["duplicate_replies"] == 3
        assert _kinds(recorder)["in", "notification"] == 3

    conversing(main)


def _check_asking(recorder: Recorder, reply: Reply) -> None:
    """The server got both answers under the ids it asked with, which were those of our call."""
    pong, refused = ast.literal_eval(_said(reply))
    assert pong == {"jsonrpc": "2.0", "id": pong["id"], "result": {}}
    assert refused["id"] == pong["id"]
    assert refused["error"]["code"] == jsonrpc.METHOD_NOT_FOUND
    assert recorder.counts["server_requests"] == 2
    assert _kinds(recorder)["out", "response"] == 2
    assert recorder.counts.get("stray_replies", 0) == 0


def test_a_server_that_asks_in_the_middle_of_a_call_is_answered_at_once_over_stdio() -> None:
    async def main() -> None:
        async with opened(stdio_server("asks_midcall")) as (session, recorder):
            await _ready(session)
            (reply,) = await _calls(session, 1)
        _check_asking(recorder, reply)

    conversing(main)


def test_a_server_that_asks_in_the_middle_of_a_call_is_answered_at_once_over_http() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await _ready(session)
            (reply,) = await _calls(session, 1)
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
            await _ready(session)
            (reply,) = await _calls(session, 1, "after the flood")
            assert _said(reply) == "after the flood"
            assert _in_order(reply)
            last = recorder.transcript[-1]
            assert (last.kind, last.at_ns) == ("response", reply.received_ns)
        assert _kinds(recorder)["in", "notification"] == 10_000

    if transport == "stdio":
        conversing(lambda: main(None))
    else:
        with listening("http_flood") as server:
            conversing(lambda: main(f"{server.base}/mcp"))


def test_messages_of_megabytes_pass_both_ways_while_the_server_does_not_read() -> None:
    async def main() -> None:
        async with opened(stdio_server("talks_first")) as (session, recorder):
            await _ready(session)
            replies: list[Reply] = []

            async def ask() -> None:
                out = session.request("echo", {"text": "y" * 200_000})
                replies.append(await session.call(out))

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(ask)
            assert [len(_said(reply)) for reply in replies] == [1 << 20] * 3
            assert all(_in_order(reply) for reply in replies)
        assert recorder.counts.get("noise_lines", 0) == 0

    conversing(main)


# -- stdio ---------------------------------------------------------------------------------------


def test_noise_and_blank_lines_are_counted_and_shift_no_reply() -> None:
    async def main() -> None:
        async with opened(stdio_server("noisy")) as (session, recorder):
            await _ready(session)
            for number in range(6):
                (reply,) = await _calls(session, 1, str(number))
                assert _said(reply) == str(number)
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
            await _ready(session)
            replies = await _calls(session, 5)
            assert [_said(each) for each in replies] == [
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


def test_a_message_cut_by_the_end_of_the_server_is_named_with_its_length() -> None:
    async def main() -> None:
        async with opened(stdio_server("cuts_message")) as (session, _):
            await _ready(session)
            (reply,) = await _calls(session, 1)
            assert reply.outcome == "transport_error"
            assert "in the middle of a message, after 65536 bytes of it" in reply.why
            assert await session.lost(reply)
            (next_one,) = await _calls(session, 1)
            assert next_one.outcome == "transport_error"

    conversing(main)


def test_a_late_reply_is_no_reply_to_the_next_call() -> None:
    async def main() -> None:
        async with opened(stdio_server("out_of_order"), limits=HASTY) as (session, recorder):
            await _ready(session)
            replies = await _calls(session, 3)  # it answers all three when it has the third
            assert [each.outcome for each in replies] == ["timeout", "timeout", "ok"]
            assert "no reply within 0.2 s" in replies[0].why
            await _heard_out(session)
        assert recorder.counts["duplicate_replies"] == 2 * 2 + 1

    conversing(main)


# -- HTTP ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*FORMS, *(f"{form}/slow" for form in FORMS)])
def test_every_form_of_a_response_holds_the_same_reply(form: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await _ready(session)
            replies = await _calls(session, 3, "ß")
            assert [_said(reply) for reply in replies] == ["ß"] * 3
            assert all(_in_order(reply) for reply in replies)
            assert session.wire.response_form == form.partition("-")[0]
            assert recorder.counts["connections_opened"] == (5 if "-end" in form else 1)

    with listening("http_forms") as server:
        conversing(lambda: main(f"{server.base}/{form}"))


@pytest.mark.parametrize("version", [version for _, version in VERSIONS[:-1]])
def test_a_session_id_is_kept_from_a_success_alone_and_sent_until_the_end(version: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url), version=version) as (session, recorder):
            first = await session.call(session.era.opening(99))
            assert first.http_status == 503
            await _ready(session)
            assert [reply.outcome for reply in await _calls(session, 2)] == ["ok", "ok"]
        assert recorder.facts["session"] is True
        assert recorder.counts["teardown_requests"] == 1

    with listening("http_session") as server:
        conversing(lambda: main(f"{server.base}/busy"))
        requests = server.seen()["requests"]
    sent = [(each["verb"], each["headers"].get("mcp-session-id")) for each in requests]
    assert sent == [("POST", None)] * 2 + [("POST", "session-1")] * 4 + [("DELETE", "session-1")]
    versions = {each["headers"].get("mcp-protocol-version") for each in requests[2:]}
    assert versions == {version if version >= "2025-06-18" else None}


def test_a_strict_server_finds_in_the_headers_what_the_body_says() -> None:
    arguments = {"region": " eu", "size": {"limit": 3}, "dry": False, "text": "ok"}

    async def main(url: str) -> None:
        async with opened(http_server(url), era="stateless") as (session, _):
            await _ready(session)
            reply = await session.call(session.request("groesse-ß", arguments))
            assert _said(reply) == "ok"
            wrong = session.request("groesse-ß", arguments)
            kept = tuple(pair for pair in wrong.headers if pair[0] != "Mcp-Param-Region")
            bare = Outgoing(method=wrong.method, body=wrong.body, id=wrong.id, headers=kept)
            refused = await session.call(bare)
            assert (refused.outcome, refused.error_code) == ("protocol_error", -32020)
            assert refused.http_status == 400

    with listening("http_strict") as server:
        conversing(lambda: main(f"{server.base}/mcp"))
        headers = server.seen()["requests"][2]["headers"]
    assert headers["mcp-name"].startswith("=?base64?")
    assert headers["mcp-param-region"].startswith("=?base64?")
    assert (headers["mcp-param-limit"], headers["mcp-param-dry"]) == ("3", "false")


def _http_counts(name: str, calls: int, *words: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the client and the server counted in a session of so many calls, all of them ok."""

    async def main(url: str) -> Mapping[str, int]:
        async with opened(http_server(url)) as (session, recorder):
            await _ready(session)
            assert [reply.outcome for reply in await _calls(session, calls)] == ["ok"] * calls
            return recorder.counts

    with listening(name, *words) as server:
        return conversing(lambda: main(f"{server.base}/mcp")), server.seen()


def test_an_end_that_comes_after_the_reply_costs_no_connection() -> None:
    counts, seen = _http_counts("http_late_end", 20)
    assert counts["connections_opened"] == seen["connections"] == 1


def test_a_stream_that_never_ends_costs_a_connection_and_no_call() -> None:
    counts, seen = _http_counts("http_late_end", 1, "never")
    assert counts["connections_opened"] == seen["connections"] >= 3


def test_a_server_that_hangs_up_between_calls_is_connected_to_anew_and_counted() -> None:
    async def main(server: Listening) -> None:
        async with opened(http_server(f"{server.base}/mcp")) as (session, recorder):
            await _ready(session)
            for number in range(1, 6):
                (reply,) = await _calls(session, 1)
                assert reply.outcome == "ok", reply.why
                while server.seen()["hung_up"] < number:  # the loop stands still meanwhile
                    continue
        assert recorder.counts["connections_opened"] == server.seen()["connections"] == 5

    with listening("http_hangs_up") as server:
        conversing(lambda: main(server))


def test_an_acceptance_without_a_length_is_one() -> None:
    counts, seen = _http_counts("http_bare_accepted", 2)
    assert counts["connections_opened"] == seen["connections"] == 2


def test_the_stream_that_a_client_may_ask_for_is_never_asked_for() -> None:
    _, seen = _http_counts("trivial_http", 3)
    assert [each["verb"] for each in seen["requests"]] == ["POST"] * 6


def test_each_response_without_a_reply_fails_its_own_call_and_says_why() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await _ready(session)
            replies = await _calls(session, 7)
            assert [each.outcome for each in replies] == ["ok"] * 2 + ["transport_error"] * 5
            assert [each.why for each in replies[2:]] == [
                "HTTP 202 without a reply",
                "HTTP 200 without a reply",
                "HTTP 200 without a reply",
                "the server closed the connection before its response was complete",
                "HTTP 502 without a reply: <html>bad gateway</html>",
            ]
            assert not any([await session.lost(each) for each in replies])
        assert recorder.counts["duplicate_replies"] == 1
        assert _kinds(recorder)["in", "notification"] == 1

    with listening("http_no_reply") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


@pytest.mark.parametrize("end", ["lf", "crlf", "cr"])
def test_a_stream_with_all_that_one_may_hold_is_read_as_the_standard_says(end: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await _ready(session)
            before = _kinds(recorder)
            (reply,) = await _calls(session, 1, "whole")
            assert _said(reply) == "whole"
            seen = _kinds(recorder) - before
        assert seen["in", "response"] == seen["in", "notification"] == seen["in", "noise"] == 1

    with listening("http_torture") as server:
        conversing(lambda: main(f"{server.base}/{end}"))


def test_a_body_that_is_refused_before_it_is_read_is_told_with_its_status() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, _):
            await _ready(session)
            (large,) = await _calls(session, 1, "x" * 8_000_000)
            (small,) = await _calls(session, 1, "x")
            assert (large.outcome, large.http_status) == ("transport_error", 413)
            assert large.why == "HTTP 413 without a reply: too large"
            assert small.outcome == "ok"

    with listening("http_too_large") as server:
        conversing(lambda: main(f"{server.base}/mcp"))

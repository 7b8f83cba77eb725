"""What the HTTP wire makes of responses in every form, right or wrong."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio
import psutil
import pytest

from bench.era import stateful
from bench.model import Cell, Outgoing, Step, Turn
from bench.recorder import Recorder
from bench.wire.conversation import Conversation
from bench.wire.post import Post
from tests.outside import (
    Listening,
    connected,
    conversing,
    http_server,
    listener,
    listening,
    opened,
    port_of,
)
from tests.talking import calls, in_order, kinds, ready, said

FORMS = ("json-length", "json-chunked", "json-end", "sse-length", "sse-chunked", "sse-end")
CELL = Cell(name="cell", scenario="", server="http", transport="http", era="stateful")


@pytest.mark.parametrize("form", [*FORMS, *(f"{form}/slow" for form in FORMS)])
def test_every_form_of_a_response_holds_the_same_reply(form: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            replies = await calls(session, 3, "ß")
            assert [said(reply) for reply in replies] == ["ß"] * 3
            assert all(in_order(reply) for reply in replies)
            assert session.wire.response_form == form.partition("-")[0]
            assert recorder.counts["connections_opened"] == (5 if "-end" in form else 1)

    with listening("http_forms") as server:
        conversing(lambda: main(f"{server.base}/{form}"))


@pytest.mark.parametrize("version", stateful.VERSIONS)
def test_a_session_id_is_kept_from_a_success_alone_and_sent_until_the_end(version: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url), version=version) as (session, recorder):
            first = await session.wire.exchange(session.era.opening(99), limit_s=5)
            assert first.http_status == 503
            await ready(session)
            assert [reply.outcome for reply in await calls(session, 2)] == ["ok", "ok"]
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
            await ready(session)
            reply = await session.call(session.request(Step(tool="groesse-ß", arguments=arguments)))
            assert said(reply) == "ok"
            wrong = session.request(Step(tool="groesse-ß", arguments=arguments)).out
            kept = tuple(pair for pair in wrong.headers if pair[0] != "Mcp-Param-Region")
            bare = Outgoing(method=wrong.method, body=wrong.body, id=wrong.id, headers=kept)
            refused = await session.wire.exchange(bare, limit_s=5)
            assert (refused.outcome, refused.error_code) == ("protocol_error", -32020)
            assert refused.http_status == 400

    with listening("http_strict") as server:
        conversing(lambda: main(f"{server.base}/mcp"))
        headers = server.seen()["requests"][2]["headers"]
    assert headers["mcp-name"].startswith("=?base64?")
    assert headers["mcp-param-region"].startswith("=?base64?")
    assert (headers["mcp-param-limit"], headers["mcp-param-dry"]) == ("3", "false")


def _http_counts(name: str, count: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the client and the server counted in a session of so many calls, all of them ok."""

    async def main(url: str) -> Mapping[str, int]:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            assert [reply.outcome for reply in await calls(session, count)] == ["ok"] * count
            return recorder.counts

    with listening(name) as server:
        return conversing(lambda: main(f"{server.base}/mcp")), server.seen()


def test_an_end_that_comes_after_the_reply_costs_no_connection() -> None:
    counts, seen = _http_counts("http_late_end", 20)
    assert counts["connections_opened"] == seen["connections"] == 1


def test_a_stream_that_never_ends_costs_a_connection_and_no_call() -> None:
    async def main(url: str) -> int:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            assert [reply.outcome for reply in await calls(session, 1)] == ["ok"]
            assert recorder.counts["connections_opened"] == 3
            mine = psutil.Process().net_connections("tcp")
            return sum(each.raddr[-1:] == (urlsplit(url).port,) for each in mine)

    with listening("http_late_end", "never") as server:
        assert conversing(lambda: main(f"{server.base}/mcp")) == 1  # the others are given up


def test_a_server_that_hangs_up_between_calls_is_connected_to_anew_and_counted() -> None:
    async def main(server: Listening) -> None:
        async with opened(http_server(f"{server.base}/mcp")) as (session, recorder):
            await ready(session)
            for number in range(1, 6):
                (reply,) = await calls(session, 1)
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
            await ready(session)
            replies = await calls(session, 7)
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
        assert kinds(recorder)["in", "notification"] == 1

    with listening("http_no_reply") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


@pytest.mark.parametrize("end", ["lf", "crlf", "cr"])
def test_a_stream_with_all_that_one_may_hold_is_read_as_the_standard_says(end: str) -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, recorder):
            await ready(session)
            before = kinds(recorder)
            (reply,) = await calls(session, 1, "whole")
            assert said(reply) == "whole"
            seen = kinds(recorder) - before
        assert seen["in", "response"] == seen["in", "notification"] == seen["in", "noise"] == 1

    with listening("http_torture") as server:
        conversing(lambda: main(f"{server.base}/{end}"))


def test_a_body_that_is_refused_before_it_is_read_is_told_with_its_status() -> None:
    async def main(url: str) -> None:
        async with opened(http_server(url)) as (session, _):
            await ready(session)
            (large,) = await calls(session, 1, "x" * 8_000_000)
            (small,) = await calls(session, 1, "x")
            assert (large.outcome, large.http_status) == ("transport_error", 413)
            assert large.why == "HTTP 413 without a reply: too large"
            assert small.outcome == "ok"

    with listening("http_too_large") as server:
        conversing(lambda: main(f"{server.base}/mcp"))


def test_a_response_that_is_there_is_read_though_the_request_can_not_be_written() -> None:
    async def main() -> None:
        recorder = Recorder(Turn(cell=CELL, launch=0, round=0), keep_bodies=False)
        with listener() as server:
            connection = await connected(port_of(server), recorder.clock)
            peer, _ = server.accept()
            peer.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()  # with a reset: our write fails
            asked = Outgoing(method="tools/call", body=b"{}", id=1)
            post = Post(Conversation(recorder), asked, lambda _: None)
            connection.start(b"POST / HTTP/1.1\r\n\r\n", post)
            reply = await post.waiting.future
        assert (reply.http_status, reply.written_ns) == (413, None)
        assert connection.closed

    conversing(main)


def test_what_comes_unasked_between_calls_is_no_response_to_the_next() -> None:
    async def main() -> None:
        recorder = Recorder(Turn(cell=CELL, launch=0, round=0), keep_bodies=False)
        with listener() as server:
            connection = await connected(port_of(server), recorder.clock)
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nnot asked for")
                with anyio.fail_after(5):
                    while not connection.closed:
                        await anyio.sleep(0)
        assert not connection.usable()

    conversing(main)

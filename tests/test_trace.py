"""What a trace says of a session: its last step, what was due, and lost lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.model import Message
from bench.report import trace
from bench.tracefile import Traced

SESSION = [
    ("out", "request", "initialize", "1"),
    ("in", "response", None, "1"),
    ("out", "notification", "notifications/initialized", None),
    ("out", "request", "tools/list", "2"),
    ("in", "response", None, "2"),
    ("out", "request", "tools/call", "3"),
    ("in", "response", None, "3"),
]


def _messages(rows: list[tuple[str, str, str | None, str | None]]) -> list[Message]:
    return [
        Message(
            at_ns=1_000_000 * number,
            direction=direction,  # type: ignore[arg-type]
            kind=kind,  # type: ignore[arg-type]
            bytes=100,
            method=method,
            id=id,
            body="{}",
        )
        for number, (direction, kind, method, id) in enumerate(rows)
    ]


def _rendered(messages: Sequence[Message], *, full: bool = False, error: str | None = None) -> str:
    return trace.render(Traced(messages, error), full=full)


def test_a_whole_session_is_seven_messages_and_odd() -> None:
    text = _rendered(_messages(SESSION))
    assert text.count("->") == 4
    assert text.count("<-") == 3
    assert "7 messages; 7 in its steps, odd" in text
    assert "nothing is due" in text


@pytest.mark.parametrize(
    ("length", "last", "due"),
    [
        (1, "the client's request initialize", "the response to initialize"),
        (2, "the server's response to initialize", "notifications/initialized"),
        (3, "notifications/initialized", "tools/list"),
        (4, "the client's request tools/list", "the response to tools/list"),
        (5, "the server's response to tools/list", "tools/call"),
        (6, "the client's request tools/call", "the response to tools/call"),
    ],
)
def test_the_last_step_and_what_should_have_followed_are_named(
    length: int, last: str, due: str
) -> None:
    text = _rendered(_messages(SESSION[:length]))
    assert last in text
    assert due in text.partition("Due next")[2]


def test_parity_shows_a_lost_line() -> None:
    lost = [row for number, row in enumerate(SESSION) if number != 4]
    text = _rendered(_messages(lost))
    assert "6 in its steps, even" in text
    assert "a line is missing" in text
    assert "Unanswered by the server: tools/list (id 2)" in text


def test_notifications_and_requests_of_the_server_do_not_disturb_parity() -> None:
    extra: list[tuple[str, str, str | None, str | None]] = [
        ("in", "notification", "notifications/tools/list_changed", None),
        ("in", "request", "ping", "1"),
        ("out", "response", None, "1"),
        ("in", "noise", None, None),
    ]
    text = _rendered(_messages([*SESSION[:5], *extra, *SESSION[5:]]))
    assert "10 messages; 7 in its steps, odd" in text
    assert "Unanswered" not in text


def test_a_request_of_the_server_that_was_never_answered_is_named() -> None:
    asked: list[tuple[str, str, str | None, str | None]] = [("in", "request", "roots/list", "9")]
    text = _rendered(_messages([*SESSION, *asked]))
    assert "Unanswered by the client: roots/list (id 9)" in text


def test_long_bodies_are_cut_unless_asked_and_control_characters_never_pass() -> None:
    (message,) = _messages(SESSION[:1])
    long = Message(
        at_ns=0, direction="in", kind="response", bytes=9, id="1", body="\x1b[31m" + "x" * 500
    )
    short = _rendered([message, long])
    assert "x" * 200 not in short
    assert "\x1b" not in short
    full = _rendered([message, long], full=True)
    assert "x" * 500 in full
    assert "\x1b" not in full


def test_an_empty_launch_says_that_nothing_was_exchanged() -> None:
    assert "Nothing was exchanged" in _rendered([], error="it left with status 1")

"""What `trace` says of real servers, good and broken, and what it keeps for a bug report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import redact, tracefile
from bench.errors import COULD_NOT, FINE, USAGE
from bench.model import Message
from bench.report.explain import explain
from bench.tracefile import Traced
from tests.outside import Program, Said, listening, module, toml

SECRET = "hunter2-planted-secret"
STATEFUL = ("--era", "stateful", "--tool", "echo")
SHORT = ("--setup-timeout", "0.5", "--timeout", "0.5")
STEPS = [
    ("->", "initialize"),
    ("<-", ""),
    ("->", "notifications/initialized"),
    ("->", "tools/list"),
    ("<-", ""),
    ("->", "tools/call"),
    ("<-", ""),
]


def _said(program: Program, server: str, *options: str, words: tuple[str, ...] = ()) -> Said:
    return program("trace", *options, "--", *module(server, *words))


def _messages(said: Said) -> list[tuple[str, dict[str, Any]]]:
    """Arrow and body of each line that shows a message."""
    found = []
    for line in said.out.splitlines():
        for arrow in ("->", "<-"):
            _, mark, body = line.partition(f" B  {arrow} ")
            if mark:
                found.append((arrow, json.loads(body)))
    return found


def test_connect_discover_and_call_are_seven_messages_in_a_fixed_order(program: Program) -> None:
    said = _said(program, "trivial", *STATEFUL, "--full")
    assert said.code == FINE
    shown = _messages(said)
    assert [(arrow, body.get("method", "")) for arrow, body in shown] == STEPS
    assert shown[0][1]["id"] == shown[1][1]["id"]
    assert "id" not in shown[2][1]
    assert "7 messages; 7 in its steps, odd, as a handshake session must be" in said.out
    assert "notifications/initialized has no response, all else is in twos" in said.out


@pytest.mark.parametrize(("era", "messages"), [("stateful", 5), ("stateless", 4)])
@pytest.mark.parametrize("calls", [1, 2, 5])
def test_each_call_adds_two_so_that_a_handshake_session_stays_odd(
    program: Program, era: str, messages: int, calls: int
) -> None:
    program.recipe("trivial", stdio=toml(module("trivial")), null_tool='"echo"')
    program.scenario("s", 'servers = ["trivial"]\n[[call]]\ntool = "echo"\n')
    said = program("run", "s", "--json", "--era", era, "-r", "1", "-w", "0", "-n", str(calls))
    assert said.cell["wire"]["setup_messages"] == messages
    rows = said.run.message_table.to_pylist()
    before_floor = [row for row in rows if row["kind"] != "noise"]
    assert len(before_floor) % 2 == messages % 2
    traced = program("trace", str(said.folder / said.document["path"]))
    parity = "odd" if era == "stateful" else "even"
    assert f"{len(rows)} in its steps, {parity}, as a" in traced.out


def test_a_server_that_keeps_silent_is_told_by_its_last_step(program: Program) -> None:
    said = _said(program, "silent", *STATEFUL, *SHORT)
    assert said.code == COULD_NOT
    assert "1 message; 1 in its steps, with a response still due" in said.out
    assert "Era: stateful (a handshake); asked for 2025-11-25, nothing agreed" in said.out
    assert "Last step: the client's request initialize. Due next: the response to" in said.out
    assert "Usually: the server is still starting, has died, writes its answer to a" in said.out
    assert "Unanswered by the server: initialize (id 1)." in said.out
    assert "It ended with: server" in said.out


@pytest.mark.parametrize(("method", "count"), [("tools/list", 4), ("tools/call", 6)])
def test_a_server_that_hangs_in_one_step_is_told_by_that_step(
    program: Program, method: str, count: int
) -> None:
    said = _said(program, "silent", *STATEFUL, *SHORT, words=(method,))
    assert f"{count} in its steps, with a response still due" in said.out
    assert f"Last step: the client's request {method}. Due next: the response to {method}." in (
        said.out
    )
    assert f"Unanswered by the server: {method}" in said.out


def test_a_reply_that_comes_twice_is_told_and_does_not_disturb_parity(program: Program) -> None:
    said = _said(program, "answers_twice", *STATEFUL)
    assert "8 messages; 7 in its steps, odd, as a handshake session must be" in said.out
    assert "Answered twice: tools/list (id 2); only the first response counts." in said.out


def test_noise_is_told_and_counts_for_nothing(program: Program) -> None:
    said = _said(program, "noisy", *STATEFUL)
    assert "7 messages; 7 in its steps, odd" in said.out
    assert "1 line was no message; it belongs on stderr." in said.out


def test_what_the_server_asks_back_is_told_and_does_not_disturb_parity(program: Program) -> None:
    said = _said(program, "asks_midcall", *STATEFUL)
    assert "11 messages; 7 in its steps, odd, as a handshake session must be" in said.out
    assert "The server asked the client for ping (id 3) and was answered." in said.out
    assert "The server asked the client for roots/list (id 3) and was refused with -32601." in (
        said.out
    )


def test_a_call_that_is_refused_is_for_the_code_and_one_that_fails_is_for_the_model(
    program: Program,
) -> None:
    refused = _said(program, "refuses_calls", *STATEFUL)
    assert 'Protocol error -32602 to tools/call (id 3): "Unknown tool: echo". Usually: the' in (
        refused.out
    )
    assert "often a tool of that name is not there" in refused.out
    assert "It is for the client's code; no model reads it." in refused.out
    assert "response to tools/call, an error. Nothing is due" in refused.out
    failed = _said(program, "refuses_calls", "--era", "stateful", "--tool", "fail")
    assert "Tool error in the result of tools/call (id 3)" in failed.out
    assert "it is for the model to read" in failed.out
    assert "Protocol error" not in failed.out


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("200", "HTTP 200 says only that the message was delivered"),
        ("400", "it came with HTTP 400"),
    ],
)
def test_an_error_over_http_shows_both_what_the_letter_says_and_the_envelope(
    program: Program, status: str, told: str
) -> None:
    with listening("http_of", "refuses_calls", status) as server:
        said = program("trace", *STATEFUL, "--url", f"{server.base}/mcp")
    assert "Protocol error -32602 to tools/call (id 3)" in said.out
    assert told in said.out


def _without(lost: int) -> str:
    """What is said of a whole session of which one line was lost."""
    ids = ("1", "1", None, "2", "2", "3", "3")
    messages = [
        Message(
            at_ns=at,
            direction="out" if arrow == "->" else "in",
            kind="response" if arrow == "<-" else "request" if id else "notification",
            bytes=2,
            method=method or None,
            id=id,
            body="{}",
        )
        for at, ((arrow, method), id) in enumerate(zip(STEPS, ids, strict=True))
        if at != lost
    ]
    return "\n".join(each.text for each in explain(messages, {}))


def test_a_session_that_goes_on_without_initialized_has_lost_a_line() -> None:
    text = _without(2)
    assert "6 in its steps, even: notifications/initialized is missing" in text
    assert "Missing: notifications/initialized before tools/call" in text


@pytest.mark.parametrize("lost", [0, 1, 3, 4, 5, 6])
def test_any_other_line_that_is_lost_is_told_by_parity_or_as_still_due(lost: int) -> None:
    text = _without(lost)
    due = "6 in its steps, with a response still due"
    missing = "6 in its steps, even: a handshake session is odd, so a line is missing"
    assert (due if lost == 6 else missing) in text
    assert "Unanswered by the server" in text or "to nothing that was asked" in text


def _of(*rows: tuple[str, str, str | None, str]) -> str:
    """What is said of messages by direction, method, id and body."""
    messages = [
        Message(
            at_ns=at,
            direction="out" if arrow == "->" else "in",
            kind="response" if not method else "request" if id else "notification",
            bytes=2,
            method=method or None,
            id=id,
            body=body,
        )
        for at, (arrow, method, id, body) in enumerate(rows)
    ]
    return "\n".join(each.text for each in explain(messages, {}))


def test_a_result_that_asks_for_input_is_no_end() -> None:
    asking = '{"result": {"resultType": "input_required", "inputRequests": {}}}'
    text = _of(("->", "tools/call", "1", "{}"), ("<-", "", "1", asking))
    assert "which asks for input. Due next: tools/call again, with inputResponses." in text


def test_a_request_that_was_cancelled_is_not_unanswered_and_does_not_disturb_parity() -> None:
    text = _of(
        ("->", "tools/call", "1", "{}"),
        ("->", "notifications/cancelled", None, '{"params": {"requestId": 1}}'),
    )
    assert "Cancelled: the request with id 1; no response to it is due." in text
    assert (
        "2 in its steps, even, as a session without a handshake with 1 request given up and 1"
        in text
    )
    assert "Unanswered" not in text


def test_an_error_without_an_id_answers_the_request_that_is_open() -> None:
    error = '{"id": null, "error": {"code": -32700, "message": "Parse error"}}'
    text = _of(("->", "tools/call", "7", "{}"), ("<-", "", None, error))
    assert 'Protocol error -32700 to tools/call (id 7): "Parse error"' in text
    assert "Unanswered" not in text


def test_a_stateless_session_says_who_answers_and_whether_it_understood() -> None:
    meta = '{"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}'
    info = '{"io.modelcontextprotocol/serverInfo": {"name": "desk", "version": "3"}}'
    good = f'{{"result": {{"resultType": "complete", "_meta": {info}}}}}'
    text = _of(("->", "tools/call", "1", meta), ("<-", "", "1", good))
    assert "Era: stateless (no handshake); version 2026-07-28; session none; server desk 3." in text
    bare = _of(("->", "tools/call", "1", meta), ("<-", "", "1", '{"result": {"content": []}}'))
    assert "But the result of tools/call has no resultType" in bare


def test_a_saved_trace_is_read_back_and_explained_the_same_way(program: Program) -> None:
    file = program.folder / "bug.jsonl"
    said = _said(program, "silent", *STATEFUL, *SHORT, "--save", str(file), words=("tools/list",))
    assert said.err.strip().endswith("bug.jsonl")
    again = program("trace", str(file))
    assert again.code == COULD_NOT
    assert again.out == said.out
    head, *rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert head["kind"] == "mcp-latency trace"
    assert head["host"]["versions"]["python"]
    assert head["server"]["stdio"][-1] == "tools/list"
    assert head["transport"] == "stdio"
    assert [row["direction"] for row in rows] == ["out", "in", "out", "out"]
    assert all(row["at_ns"] > 0 and row["body"] for row in rows)


def test_a_trace_of_a_stored_run_can_be_saved_too(program: Program) -> None:
    said = program.run("trivial")
    file = program.folder / "of_run.jsonl"
    shown = program("trace", said.document["path"], "--save", str(file))
    assert program("trace", str(file)).out == shown.out
    assert "odd, as a handshake session must be" in shown.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "bug.jsonl:1: no JSON"),
        ("{}\n", "bug.jsonl is no trace; try: a file that"),
        ('{"kind": "mcp-latency trace", "format": 9}\n', "has format 9, this program reads 1"),
        ('{"kind": "mcp-latency trace", "format": 1}\n{"at', "bug.jsonl:2: no JSON"),
        ('{"kind": "mcp-latency trace", "format": 1}\n{}\n', "bug.jsonl:2: no message"),
    ],
)
def test_a_file_that_is_no_trace_is_wrong_usage_with_its_line(
    program: Program, text: str, told: str
) -> None:
    (program.folder / "bug.jsonl").write_text(text, "utf-8")
    said = program("trace", "bug.jsonl")
    assert said.code == USAGE
    assert told in said.err


def test_a_trace_that_cannot_be_written_says_where(program: Program) -> None:
    said = _said(program, "trivial", *STATEFUL, "--save", "/nowhere/bug.jsonl")
    assert said.code == COULD_NOT
    assert "/nowhere/bug.jsonl cannot be written" in said.err


@pytest.mark.parametrize("value", [SECRET, 'quo"ted-secret', "sécret-wörd", "per%cent/secret"])
def test_no_secret_of_a_recipe_reaches_a_saved_trace(program: Program, value: str) -> None:
    told = json.dumps(value, ensure_ascii=False)
    program.recipe("leaky", stdio=toml(module("tells_secret")), env=f"{{MY_VALUE = {told}}}")
    file = program.folder / "bug.jsonl"
    said = program("trace", "leaky", *STATEFUL, "--save", str(file))
    assert file.is_file(), said.err
    kept = file.read_text("utf-8")
    assert "echo [hidden]" in kept
    for form in (value, json.dumps(value)[1:-1], json.dumps(json.dumps(value))[2:-2]):
        assert form not in kept
        assert form not in said.out


def test_no_secret_of_our_own_environment_reaches_a_saved_trace(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", SECRET)
    monkeypatch.setenv("MY_VALUE", SECRET)
    file = program.folder / "bug.jsonl"
    said = _said(program, "tells_secret", *STATEFUL, "--save", str(file))
    assert SECRET not in file.read_text("utf-8") + said.out + said.err


def test_no_secret_of_headers_addresses_and_bodies_reaches_a_saved_trace(
    program: Program,
) -> None:
    file = program.folder / "bug.jsonl"
    arguments = {
        "password": SECRET,
        "text": f"Authorization: Bearer {SECRET} http://u:{SECRET}@h/?token={SECRET}&x=1",
    }
    with listening("trivial_http") as server:
        url = f"{server.base}/mcp?token={SECRET}-url"
        said = program(
            *("trace", "--url", url, "-H", f"X-Any: {SECRET}-header", *STATEFUL),
            *("--args", json.dumps(arguments), "--save", str(file)),
        )
    assert said.code == FINE, said.err
    kept = file.read_text("utf-8")
    assert "http://[hidden]@h/?token=[hidden]&x=1" in kept
    assert SECRET not in kept + said.out + said.err
    assert redact.HIDDEN in json.loads(kept.splitlines()[0])["server"]["http"]["url"]


def test_what_a_hostile_server_says_is_escaped_and_bounded_in_what_a_trace_says(
    tmp_path: Path,
) -> None:
    bad = "\x1b[31m\u202eevil" + "x" * 900
    opened = {"protocolVersion": bad, "capabilities": {bad: {}}, "serverInfo": {"name": bad}}
    listed = {"tools": [], "ttlMs": 1, "cacheScope": bad}
    bodies: list[tuple[str, str | None, str | None, dict[str, Any]]] = [
        ("->", "initialize", "1", {"params": {"protocolVersion": "2025-11-25"}}),
        ("<-", None, "1", {"result": opened}),
        ("->", "tools/list", "2", {}),
        ("<-", None, "2", {"result": listed}),
        ("->", bad, "3", {}),
        ("<-", None, "3", {"error": {"code": bad, "message": bad}}),
        ("->", "tools/call", "4", {}),
        ("<-", None, "4", {"result": {"isError": True, "content": [{"text": bad}]}}),
        ("<-", None, bad, {}),
        ("<-", bad, bad, {}),
    ]
    messages = [
        Message(
            at_ns=at,
            direction="out" if arrow == "->" else "in",
            kind="request" if method else "response",
            bytes=2,
            method=method,
            id=id,
            body=json.dumps(body),
        )
        for at, (arrow, method, id, body) in enumerate(bodies)
    ]
    file = tmp_path / "x.jsonl"
    file.write_text(tracefile.text(Traced(messages, None), {}), "utf-8")
    back = tracefile.read(file.read_text("utf-8"), file="x")
    assert list(back.messages) == messages
    said = [each.text for each in explain(back.messages, back.facts)]
    for about in ("Era:", "announces", "may be kept", "Protocol error", "Tool error", "Unanswered"):
        assert any(about in text and "\\x1b[31m\\u202eevil" in text for text in said), about
    assert not any("\x1b" in text or "\u202e" in text for text in said)
    assert all(len(text) < 2_000 for text in said)

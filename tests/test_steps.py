"""Steps beside plain calls: pages, questions of the server, progress, events and cancelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import jsonrpc, rounds, segments, summary
from bench.errors import FINE, USAGE, UsageError
from bench.model import Cell, Reply, Scripted, Step, Turn
from bench.recorder import Asked, Recorder
from bench.report import terminal
from bench.scenario import read_scenario
from bench.segments import MISSING
from tests.outside import Program, Said

YES = Scripted("elicitation/create", {"action": "accept"}, think_s=0.5)
CALL = Step(tool="close")
EVERY = 11


def _input_required(**more: Any) -> Reply:
    result = {"resultType": "input_required", **more}
    return Reply("input_required", 1_000, received_ns=2_000, body=jsonrpc.response(1, result))


def test_what_failed_is_kept_under_the_method_that_was_asked() -> None:
    cell = Cell(name="cell", scenario="", server="", transport="stdio", era="stateful")
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=False)
    asked = Asked("a long list", "resources/list")
    recorder.call(Reply("timeout", 1_000), index=0, phase="steady", asked=asked)
    assert [message.method for message in recorder.transcript] == ["resources/list"]


def test_a_question_is_answered_under_its_key_and_the_state_is_given_back_as_it_was() -> None:
    asked = {"sure": {"method": "elicitation/create", "params": {}}}
    reply = _input_required(inputRequests=asked, requestState="opaque, é")
    again = rounds.again(CALL, reply, {YES.method: YES})
    assert again == rounds.Again(
        {"inputResponses": {"sure": {"action": "accept"}}, "requestState": "opaque, é"}, 0.5
    )
    stateless = rounds.again(CALL, _input_required(inputRequests=asked), {YES.method: YES})
    assert stateless is not None
    assert "requestState" not in stateless.params


@pytest.mark.parametrize(
    "asked",
    [
        {"inputRequests": {"name": {"method": "sampling/createMessage"}}},
        {"inputRequests": {"name": "no object"}},
        {"inputRequests": [1]},
        {},
    ],
)
def test_a_question_that_the_script_does_not_answer_ends_the_call(asked: dict[str, Any]) -> None:
    assert rounds.again(CALL, _input_required(**asked), {YES.method: YES}) is None


def test_a_list_is_asked_to_its_last_page_and_an_empty_cursor_is_one() -> None:
    step = Step(method="resources/list")
    page = Reply("ok", 0, body=jsonrpc.response(1, {"resources": [], "nextCursor": ""}))
    last = Reply("ok", 0, body=jsonrpc.response(1, {"resources": []}))
    assert rounds.again(step, page, {}) == rounds.Again({"cursor": ""})
    assert rounds.again(step, last, {}) is None
    assert rounds.again(CALL, page, {}) is None


def test_the_rounds_of_a_call_are_one_call_and_the_waits_between_them_are_ours() -> None:
    made = [
        Reply("input_required", 1_000, received_ns=2_000),
        Reply("input_required", 7_000, received_ns=8_000, think_ns=100),
        Reply("ok", 9_500, received_ns=10_000),
    ]
    whole = rounds.together(made, unfinished=False)
    assert (whole.outcome, whole.sent_ns, whole.received_ns) == ("ok", 1_000, 10_000)
    assert (whole.think_ns, whole.wire_requests) == (5_000 + 1_500 + 100, 3)
    assert list(whole.rounds) == made
    assert rounds.together(made[:1], unfinished=False) is made[0]


@pytest.mark.parametrize(
    ("asked_ns", "part"), [(150, "dispatch"), (250, "work"), (350, "encode"), (None, "work")]
)
def test_our_thinking_is_taken_out_of_the_part_in_which_the_server_waited(
    asked_ns: int | None, part: str
) -> None:
    points = {"sent": 0, "read": 100, "entered": 200, "left": 300, "writing": 400, "received": 500}
    stamps = {name: np.array([value]) for name, value in points.items()}
    stamps["asked"] = np.array([MISSING if asked_ns is None else asked_ns])
    before = segments.calls(stamps)
    think = np.array([MISSING if asked_ns is None else 40])
    found = segments.thoughtful(before, stamps, think)
    if asked_ns is None:
        assert found == before
        return
    assert found[part][0] == before[part][0] - 40
    assert found["served"][0] == 460
    assert found["boundary"][0] + found["work"][0] + found["think"][0] == 500
    assert segments.unsound(found, segments.CALL, "call") == 0
    assert segments.unsound(before | {"think": think}, segments.CALL, "call") == 1


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('tool = "a"\nmethod = "ping"', "name either a tool or a method"),
        ("name = 'x'", "name either a tool or a method"),
        ('method = "ping"', 'only the stateful era has ping; add: era = "stateful"'),
        ('method = "server/discover"', "only the stateless era has server/discover"),
        ('method = "initialize"', "initialize is no step; it is part of every launch"),
        ('tool = "a"\nparams = {x = 1}', "params go with a method"),
        ('tool = "a"\ncancel_after_s = 0', "cancel_after_s must be above 0"),
        ('tool = "a"\n[[answer]]\nmethod = "roots/lst"', 'did you mean "roots/list"'),
        ('tool = "a"\n[listen]\nresourcesChanged = true', "listen has no"),
        ('tool = "a"\n[listen]\ntoolsListChanged = 1', "listen.toolsListChanged must be a bool"),
    ],
)
def test_a_step_that_cannot_be_is_refused_with_words(lines: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_scenario(f"[[call]]\n{lines}\n", name="x", file="x.toml")
    assert words in str(caught.value)


def test_a_client_declares_what_its_script_answers_and_nothing_else() -> None:
    text = '[[call]]\ntool = "a"\n'
    assert read_scenario(text, name="x", file="x").capabilities == {}
    text += '[[answer]]\nmethod = "sampling/createMessage"\n'
    assert read_scenario(text, name="x", file="x").capabilities == {"sampling": {}}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """One short run of the scenario `desk`, in all four cells."""
    program = Program(tmp_path_factory.mktemp("desk"))
    return program("run", "desk", "--json", "-r", "2", "-n", str(EVERY), "-w", "0", "--pin", "none")


def _steps(desk: Said) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (cell["transport"], cell["era"], {step["step"]: step for step in cell["steps"]})
        for cell in desk.document["cells"]
    ]


def test_every_step_is_done_on_both_transports_in_both_eras(desk: Said) -> None:
    assert desk.verdict == FINE, desk.err
    assert {(transport, era) for transport, era, _ in _steps(desk)} == {
        (transport, era) for transport in ("stdio", "http") for era in ("stateful", "stateless")
    }
    for _, _, steps in _steps(desk):
        assert len(steps) == EVERY
        for name, step in steps.items():
            wanted = "cancelled" if name == "wait, cancelled" else "ok"
            assert step["outcomes"][wanted] == step["calls"] == 2, (name, step["outcomes"])


def test_a_question_is_a_request_of_the_server_or_a_second_round_as_the_era_has_it(
    desk: Said,
) -> None:
    for _, era, steps in _steps(desk):
        step = steps["close, asked back"]
        assert step["requests_per_call"] == (1 if era == "stateful" else 2)
        found = step["segments"]
        assert found["think"]["min_ns"] >= 9_000_000
        assert found["served"]["max_ns"] <= found["call"]["max_ns"] - found["think"]["min_ns"]
        assert ("round" in found) == (era == "stateless")
    for cell in desk.document["cells"]:
        assert (cell["wire"]["server_requests"] > 0) == (cell["era"] == "stateful")
        assert not [words for words in cell["warnings"] if "do not sum" in words]


def test_a_change_is_told_and_progress_comes_before_the_end(desk: Said) -> None:
    for _, _, steps in _steps(desk):
        assert steps["write, told of it"]["segments"]["event"]["n"] == 2
        sort = steps["sort"]["segments"]
        assert sort["first_progress"]["max_ns"] <= sort["call"]["max_ns"]
    for cell in desk.document["cells"]:
        assert cell["wire"]["missed_events"] == 0
        assert cell["segments"]["listen"]["n"] == 2


def test_a_cancelled_call_ends_early_and_the_connection_lives_on(desk: Said) -> None:
    for _, _, steps in _steps(desk):
        assert steps["wait, cancelled"]["segments"]["stopping"]["n"] == 2
    for cell in desk.document["cells"]:
        wire = cell["wire"]
        assert (wire["cancelled"], wire["survived_cancel"]) == (1, 1)
        assert wire["answered_after_cancel"] == 0
        assert cell["failed_calls"] == 0


def test_each_step_has_its_line_in_the_report(desk: Said) -> None:
    text = terminal.render(summary.document(desk.run))
    assert text.count("Each step, ") == 4
    assert text.count("told of it after") == 4
    assert text.count("we thought") == 4
    assert text.count("after 1 the connection lived on") == 4


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_typescript_server_is_answered_when_it_samples(transport: str, tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.scenario("samples", SAMPLES)
    few = ("--json", "-r", "1", "-n", "2", "-w", "0", "--pin", "none")
    said = program("run", "samples", "--transport", transport, *few)
    assert said.verdict == FINE, said.err
    (step,) = said.cell["steps"]
    assert step["outcomes"]["ok"] == 2
    assert step["segments"]["think"]["min_ns"] >= 4_000_000
    assert said.cell["wire"]["server_requests"] >= 3


def test_the_sdk_client_refuses_a_scenario_that_is_more_than_calls(tmp_path: Path) -> None:
    said = Program(tmp_path)("run", "desk", "--client", "sdk", "--quick", "--era", "stateful")
    assert said.code == USAGE
    assert "only our own client can; try: --client wire" in said.err


SAMPLES = """
servers = ["everything"]
era = ["stateful"]
[[call]]
tool = "trigger-sampling-request"
arguments = {prompt = "hi", maxTokens = 5}
[[answer]]
method = "sampling/createMessage"
result = {role = "assistant", model = "none", content = {type = "text", text = "hello"}}
think_s = 0.005
"""

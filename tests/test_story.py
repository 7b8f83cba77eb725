"""Whole runs without time: from a scenario to the report, in exact numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import summary
from bench.report import FORMATS
from tests.story import TICK_NS, CountingClock, Responder, run_in_memory

COSTS_NS = {
    "initialize": 3_000_000,
    "notifications/initialized": 500_000,
    "server/discover": 2_000_000,
    "tools/list": 1_000_000,
    "tools/call": 250_000,
}


def _document(path: Path, **costs_ns: int) -> dict[str, Any]:
    clock = CountingClock()
    _, run = run_in_memory(path, Responder(clock, {**COSTS_NS, **costs_ns}), clock)
    return summary.document(run)


def test_every_segment_of_a_run_is_the_programmed_time_and_the_ticks_of_its_stamps(
    tmp_path: Path,
) -> None:
    stateful, stateless = _document(tmp_path)["cells"]
    call_ns = COSTS_NS["tools/call"] + 2 * TICK_NS  # written, received
    assert stateful["segments"]["call"]["p50_ns"] == call_ns
    assert stateful["segments"]["call"]["min_ns"] == call_ns
    assert stateful["segments"]["send"]["p50_ns"] == TICK_NS
    assert stateful["segments"]["decode"]["p50_ns"] == TICK_NS
    assert stateful["segments"]["initialize"]["p50_ns"] == COSTS_NS["initialize"] + 2 * TICK_NS
    assert stateful["segments"]["initialized"]["p50_ns"] == 500_000 + TICK_NS
    assert stateless["segments"]["discover"]["p50_ns"] == COSTS_NS["server/discover"] + 2 * TICK_NS
    assert "initialize" not in stateless["segments"]


def test_the_parts_of_a_setup_sum_to_it(tmp_path: Path) -> None:
    for cell in _document(tmp_path)["cells"]:
        found = cell["segments"]
        parts = ("connect", "initialize", "discover", "initialized", "tools_list", "client")
        total = sum(found[part]["p50_ns"] for part in parts if part in found)
        assert total == found["setup"]["p50_ns"]


def test_counts_of_the_wire_are_those_of_a_connect_discover_call_session(tmp_path: Path) -> None:
    stateful, stateless = _document(tmp_path)["cells"]
    assert stateful["wire"]["setup_messages"] == 5
    assert stateful["wire"]["setup_requests"] == 2
    assert stateless["wire"]["setup_messages"] == 4
    assert stateful["wire"]["requests_per_call"] == 1.0
    assert stateful["calls"] == stateful["outcomes"]["ok"] == 6 * 4
    assert (stateful["era"], stateless["era"]) == ("stateful", "stateless")


def test_the_floor_is_the_cheapest_request_of_the_era_and_counts_as_no_call(tmp_path: Path) -> None:
    stateful, stateless = _document(tmp_path, ping=40_000)["cells"]
    assert stateful["segments"]["floor"]["p50_ns"] == 40_000 + 2 * TICK_NS
    assert stateless["segments"]["floor"]["p50_ns"] == COSTS_NS["server/discover"] + 2 * TICK_NS
    assert stateful["calls"] == 24
    assert stateful["work_source"] == "estimate"
    assert stateful["segments"]["work"]["p50_ns"] == COSTS_NS["tools/call"] - 40_000


def test_the_first_call_never_enters_the_steady_figures(tmp_path: Path) -> None:
    clock = CountingClock()

    class SlowFirst(Responder):
        def __call__(self, body: bytes) -> list[bytes]:
            message = json.loads(body)
            if message["method"] == "tools/call" and message["id"] == 3:
                clock.spend(2_500_000_000)
            return list(super().__call__(body))

    respond = SlowFirst(clock, COSTS_NS)
    _, run = run_in_memory(tmp_path, respond, clock, eras=("stateful",), calls=99)
    (cell,) = summary.document(run)["cells"]
    steady_ns = COSTS_NS["tools/call"] + 2 * TICK_NS
    assert cell["segments"]["first_call"]["p50_ns"] == 2_500_000_000 + steady_ns
    assert cell["segments"]["call"]["max_ns"] == cell["segments"]["call"]["mean_ns"] == steady_ns
    assert run.call_table["phase"].to_pylist().count("first") == 6


def test_failed_calls_are_counted_by_kind_and_never_timed(tmp_path: Path) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers["tools/call"] = {"error": {"code": -32602, "message": "Unknown tool: nul"}}
    _, run = run_in_memory(tmp_path, respond, clock, eras=("stateful",))
    (cell,) = summary.document(run)["cells"]
    assert cell["outcomes"]["protocol_error"] == cell["calls"] == 24
    assert "call" not in cell["segments"]
    codes = zip(
        *(run.call_table[name].to_pylist() for name in ("phase", "error_code")), strict=True
    )
    assert {code for phase, code in codes if phase != "floor"} == {-32602}


def test_an_error_of_the_tool_is_told_apart_from_one_of_the_protocol(tmp_path: Path) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers["tools/call"] = {"result": {"content": [], "isError": True}}
    _, run = run_in_memory(tmp_path, respond, clock, eras=("stateful",))
    (cell,) = summary.document(run)["cells"]
    assert cell["outcomes"]["tool_error"] == 24
    assert cell["outcomes"]["protocol_error"] == 0


def test_a_server_without_an_answer_times_the_call_out_and_the_run_goes_on(tmp_path: Path) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)

    def silent(body: bytes) -> list[bytes]:
        is_call = json.loads(body)["method"] == "tools/call"
        return [] if is_call else list(respond(body))

    _, run = run_in_memory(
        tmp_path, silent, clock, eras=("stateful",), launches=1, calls=1, call_limit_s=0.01
    )
    (cell,) = summary.document(run)["cells"]
    assert cell["outcomes"]["timeout"] == 1
    assert cell["segments"].get("call") is None


def test_a_server_that_declines_the_version_fails_its_cell_and_not_the_other(
    tmp_path: Path,
) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers["initialize"] = {"result": {"protocolVersion": "1900-01-01"}}
    ended, run = run_in_memory(tmp_path, respond, clock)
    assert list(ended.failed) == ["story/small/memory/stateful"]
    assert "1900-01-01" in str(ended.failed["story/small/memory/stateful"])
    stateful, stateless = summary.document(run)["cells"]
    assert stateful["calls"] == 0
    assert stateless["calls"] == 24


def test_the_dearer_setup_with_the_cheaper_call_pays_off_where_the_costs_cross(
    tmp_path: Path,
) -> None:
    clock = CountingClock()
    small = Responder(clock, {"initialize": 10_000_000, "tools/call": 100_000})

    def by_era(body: bytes) -> list[bytes]:
        stateless_call = b'"tools/call"' in body and b"clientCapabilities" in body
        clock.spend(50_000 if stateless_call else 0)
        return list(small(body))

    _, run = run_in_memory(tmp_path, by_era, clock, launches=9)
    document = summary.document(run)
    (call,) = [each for each in document["comparisons"] if each["segment"] == "call"]
    cells = [cell["segments"] for cell in document["cells"]]
    setup_ns = cells[0]["setup"]["p50_ns"] - cells[1]["setup"]["p50_ns"]
    call_ns = cells[1]["call"]["p50_ns"] - cells[0]["call"]["p50_ns"]
    assert call_ns == 50_000
    assert call["break_even_calls"] == -(-setup_ns // call_ns)
    assert call["cheaper"] == "story/small/memory/stateful"
    assert call["verdict"] == "slower"


def test_a_client_that_sets_the_pace_itself_is_named(tmp_path: Path) -> None:
    clock = CountingClock()
    _, run = run_in_memory(tmp_path, Responder(clock, {}), clock, eras=("stateful",), calls=30)
    (cell,) = summary.document(run)["cells"]
    assert cell["client_bound"]  # the counting clock says 1 us passed where we computed for more
    assert any("client-bound" in each for each in cell["warnings"])
    slow = Responder(clock, {"tools/call": 10**12})
    _, run = run_in_memory(tmp_path / "slow", slow, clock, eras=("stateful",), calls=30)
    assert not summary.document(run)["cells"][0]["client_bound"]


@pytest.mark.parametrize("form", list(FORMATS))
def test_every_report_of_an_empty_run_is_made_without_numbers(tmp_path: Path, form: str) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers["tools/call"] = {"error": {"code": -32603, "message": "no"}}
    _, run = run_in_memory(tmp_path, respond, clock, launches=1, calls=1)
    document = summary.document(run)
    json.dumps(document, allow_nan=False)
    assert "nan" not in FORMATS[form](document).lower()

"""Where the work is known from: a probe, a span, a header or the floor, and what speaks against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench import store, summary
from bench.model import Cell, Phase, Reply, Turn
from bench.recorder import Asked, Recorder
from bench.store import Run
from tests.outside import Program, Said, module, toml

MS = 1_000_000
SPIN_NS = 3_000_000  # of both servers
OPTIONS = ("-r", "2", "-n", "5", "-w", "0", "--pin", "none", "--seed", "1")


class Told(NamedTuple):
    """One call in ns: how long it took, and what a header, a span and a probe say of it."""

    call: int
    header: bytes | None = None
    span: int | None = None
    probe: int | None = None
    head: int | None = None


def _run(path: Path, told: Sequence[Told], phase: Phase = "steady") -> Run:
    """A run of one cell with these calls, stored and read back."""
    path.mkdir(exist_ok=True)
    cell = Cell("story/small/http/stateful", "story", "small", "http", "stateful")
    asked = {"cell": cell.name, "server": "small", "transport": "http", "era": "stateful"}
    asked_cell = {**asked, "scenario": "story", "variant": {}}
    writer = store.Writer(path, {"scenario": "story", "seed": 1, "cells": [asked_cell]})
    recorder = Recorder(
        Turn(cell, launch=0, round=0), clock=iter(range(10**6)).__next__, keep_bodies=False
    )
    stamps: list[tuple[int | None, ...]] = []
    for number, one in enumerate(told):
        sent_ns = number * 10**9
        reply = Reply(
            "ok",
            sent_ns,
            first_byte_ns=sent_ns + (one.call if one.head is None else one.head),
            received_ns=sent_ns + one.call,
            server_timing=one.header,
        )
        recorder.call(
            reply, index=number, phase=phase, asked=Asked("echo", request_bytes=10, id=number)
        )
        if one.probe is not None:
            points = (sent_ns + 1, sent_ns + 2, sent_ns + 2 + one.probe, sent_ns + 3 + one.probe)
            stamps.append((number, *points))
    writer.flush(recorder)
    writer.stamps(0, stamps)
    found = {number: one.span for number, one in enumerate(told) if one.span is not None}
    recorder.facts["spans"] = len(found)
    writer.spans(0, found)
    writer.launch(recorder, "ok")
    writer.close("complete")
    return store.read(path)


def _cell(run: Run) -> dict[str, Any]:
    (cell,) = summary.document(run)["cells"]
    found: dict[str, Any] = cell
    return found


def test_what_a_server_reports_is_work_and_the_rest_is_boundary(tmp_path: Path) -> None:
    cell = _cell(_run(tmp_path, [Told(17_300_000, b"handler;dur=10")] * 3))
    assert cell["work_source"] == "header"
    assert cell["segments"]["work"]["p50_ns"] == 10 * MS
    assert cell["segments"]["boundary"]["p50_ns"] == 7_300_000
    ledger = {"call": 17_300_000, "work": 10 * MS, "boundary": 7_300_000}
    assert cell["ledger"]["call"] == ledger
    assert cell["inconsistent_server_time"] == 0


def test_a_regression_outside_of_the_handler_is_one_of_the_boundary(tmp_path: Path) -> None:
    base, head = (
        _cell(_run(tmp_path / name, [Told(call, b"handler;dur=10")] * 3))["segments"]
        for name, call in (("base", 17_300_000), ("head", 22_300_000))
    )
    assert head["boundary"]["p50_ns"] - base["boundary"]["p50_ns"] == 5 * MS
    assert head["work"] == base["work"]


@pytest.mark.parametrize("header", [b"handler;dur=12", b"handler;dur=-1"])
def test_a_time_that_cannot_be_gives_no_work_no_boundary_and_no_estimate(
    tmp_path: Path, header: bytes
) -> None:
    cell = _cell(_run(tmp_path, [Told(10 * MS, header)]))
    assert cell["inconsistent_server_time"] == 1
    assert not {"work", "boundary"} & cell["segments"].keys()
    assert cell["segments"]["call"]["n"] == 1
    assert cell["work_source"] is None
    assert cell["ledger"]["call"] == {}
    assert any(each.startswith("1 calls with an inconsistent") for each in cell["warnings"])


def test_one_row_that_cannot_be_leaves_the_others(tmp_path: Path) -> None:
    told = [Told(10 * MS, span=span) for span in (4 * MS, 12 * MS, -1, 10 * MS)]
    run = _run(tmp_path, told)
    cell = _cell(run)
    assert cell["inconsistent_server_time"] == 2
    assert (cell["segments"]["work"]["n"], cell["segments"]["work"]["max_ns"]) == (2, 10 * MS)
    assert cell["segments"]["boundary"]["min_ns"] == 0
    assert run.call_table["reported_ns"].to_pylist() == [4 * MS, 12 * MS, -1, 10 * MS]


def test_a_span_goes_before_a_header_and_both_are_kept(tmp_path: Path) -> None:
    run = _run(tmp_path, [Told(10 * MS, b"handler;dur=4", span=5 * MS), Told(10 * MS, b"db;dur=3")])
    assert run.call_table["reported_ns"].to_pylist() == [5 * MS, 3 * MS]
    assert run.call_table["reported_by"].to_pylist() == ["span", "header"]
    assert run.call_table["header_ns"].to_pylist() == [4 * MS, 3 * MS]
    cell = _cell(run)
    assert cell["work_source"] == "span"
    assert cell["segments"]["work"]["n"] == 1
    assert any("4.00 ms by header and 5.00 ms by span" in each for each in cell["warnings"])


def test_the_probe_goes_before_both_and_a_wider_span_is_a_warning(tmp_path: Path) -> None:
    told = [Told(10 * MS, b"handler;dur=4", span=5 * MS, probe=4 * MS + each) for each in range(9)]
    cell = _cell(_run(tmp_path, told))
    assert cell["work_source"] == "probe"
    assert cell["segments"]["work"]["p50_ns"] == 4 * MS + 4
    (warning,) = [each for each in cell["warnings"] if "by probe" in each]
    assert "4.00 ms by probe and 5.00 ms by span (medians of 9 calls)" in warning
    assert "validation, middleware" in warning


def test_sources_that_differ_less_than_they_vary_are_no_warning(tmp_path: Path) -> None:
    told = [Told(90 * MS, span=(each + 1) * MS, probe=each * MS) for each in range(1, 40)]
    assert not [each for each in _cell(_run(tmp_path, told))["warnings"] if "by probe" in each]


def test_a_header_sent_long_before_the_reply_is_doubted(tmp_path: Path) -> None:
    early, whole = [Told(10 * MS, b"handler;dur=.5", head=MS)], [Told(10 * MS, b"handler;dur=9")]
    words = "9.00 ms before the reply"
    for name, told, doubted in (("early", early, True), ("whole", whole, False)):
        cell = _cell(_run(tmp_path / name, told))
        assert any(words in each for each in cell["warnings"]) == doubted


def test_spans_that_were_asked_for_and_never_came_are_named(tmp_path: Path) -> None:
    cell = _cell(_run(tmp_path, [Told(10 * MS)]))
    assert any(each.startswith("no span: none came") for each in cell["warnings"])
    assert cell["work_source"] is None


def test_a_run_from_before_these_columns_is_still_read(tmp_path: Path) -> None:
    run = _run(tmp_path, [Told(10 * MS)])
    old = run.call_table.drop_columns(["header_ns", "reported_ns", "reported_by"])
    store.write_table(old, tmp_path / "calls.parquet")
    again = store.read(tmp_path)
    assert again.call_table["reported_by"].null_count == len(again.call_table) == 1
    assert summary.document(again)["cells"][0]["segments"]["call"]["n"] == 1


def _says_time(program: Program, *words: str) -> Said:
    command = toml(module("http_says_time", "{port}", *words))
    url = "http://127.0.0.1:{port}/mcp"
    program.recipe("says_time", http=f'{{command = {command}, url = "{url}"}}')
    program.scenario("small", 'servers = ["says_time"]\n[[call]]\ntool = "echo"\n')
    return program("run", "small", "--json", *OPTIONS)


def test_a_true_header_is_the_work_of_each_call(program: Program) -> None:
    said = _says_time(program)
    assert said.code == 0, said.err
    for cell in said.document["cells"]:
        assert cell["work_source"] == "header"
        assert cell["segments"]["work"]["n"] == cell["segments"]["boundary"]["n"] == 10
        assert cell["segments"]["work"]["min_ns"] >= SPIN_NS
        assert cell["segments"]["boundary"]["min_ns"] > 0
        assert cell["inconsistent_server_time"] == 0


def test_a_header_that_claims_more_than_the_call_is_counted_and_warned_of(program: Program) -> None:
    said = _says_time(program, "liar")
    assert said.code == 0, said.err
    for cell in said.document["cells"]:
        assert cell["inconsistent_server_time"] == 10
        assert not {"work", "boundary"} & cell["segments"].keys()
        assert any("inconsistent server time" in each for each in cell["warnings"])


def _sends_spans(program: Program, *options: str) -> Said:
    stdio, url = toml(module("sends_spans")), "http://127.0.0.1:{port}/mcp"
    command = toml(module("sends_spans", "{port}"))
    program.recipe("sends_spans", stdio=stdio, http=f'{{command = {command}, url = "{url}"}}')
    program.scenario("small", 'servers = ["sends_spans"]\n[[call]]\ntool = "echo"\n')
    said = program("run", "small", "--json", "--spans", *OPTIONS, *options)
    assert said.code == 0, said.err
    assert said.left == []
    assert len(said.document["cells"]) == 4
    return said


def test_spans_of_a_real_server_are_the_work_where_there_is_no_probe(program: Program) -> None:
    said = _sends_spans(program, "--probe", "off")
    for cell in said.document["cells"]:
        assert cell["work_source"] == "span"
        assert cell["segments"]["work"]["n"] == cell["segments"]["call"]["n"] == 10
        assert cell["segments"]["work"]["min_ns"] >= SPIN_NS
        assert cell["inconsistent_server_time"] == 0
        assert cell["variant"]["spans"] == "on"
    sent = [
        json.loads(line["body"])
        for line in store.transcript(said.run.path)
        if line["direction"] == "out"
    ]
    called = [each["params"]["_meta"] for each in sent if each["method"] == "tools/call"]
    assert len({meta["traceparent"] for meta in called}) == len(called) == 4 * 6
    assert sum("io.modelcontextprotocol/protocolVersion" in meta for meta in called) == 2 * 6


def test_a_probe_goes_before_the_spans_which_stand_beside_it(program: Program) -> None:
    said = _sends_spans(program, "--probe", "auto")
    for cell in said.document["cells"]:
        assert cell["work_source"] == "probe"
        assert cell["segments"]["dispatch"]["n"] == 10
    calls = said.run.call_table.to_pylist()
    made = [call for call in calls if call["phase"] != "floor"]
    assert {call["reported_by"] for call in made} == {"span"}
    assert all(call["reported_ns"] >= SPIN_NS for call in made)

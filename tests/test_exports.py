"""Foreign formats: read by the tools they are for, with the run's own numbers in them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from lxml import etree

from bench import store, summary, tables
from bench.errors import UsageError
from bench.export import EXPORTS, export
from bench.export.chosen import Chosen, choose
from bench.options import FOREIGN
from bench.report.figures import harmless
from bench.seen import Seen
from bench.store import Run
from tests.outside import Program
from tests.story import CountingClock, Responder, run_in_memory

REFERENCE = Path(__file__).parent.parent / "results" / "reference" / "tickets"
ONE = "tickets/tickets-python/stdio/stateful"
SCHEMA = Path(__file__).parent / "fixtures" / "jenkins-junit.xsd"
HOSTILE = "=cmd|'/C calc'!A0<&\"]]>\x1b[31m\u202e\ud800,é"
COSTS_NS = {"initialize": 3_000_000, "tools/list": 1_000_000, "tools/call": 250_000}


def _story(folder: Path, *, server: str = "small", answers: Mapping[str, Any] | None = None) -> Run:
    clock = CountingClock()
    responder = Responder(clock, dict(COSTS_NS))
    responder.answers = dict(answers or {})
    return run_in_memory(folder, responder, clock, eras=("stateful",), server=server)[1]


def _text(to: str, folder: Path, cell: str | None = None) -> str:
    return EXPORTS[to](choose(folder, cell=cell))


def _strict(text: str) -> Any:
    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_the_words_of_the_option_are_the_formats_there_are() -> None:
    assert tuple(EXPORTS) == FOREIGN


# pyperf


def _pyperf(*words: object) -> str:
    command = [sys.executable, "-m", "pyperf", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pyperf_reads_its_file_and_finds_the_same_medians(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    export(REFERENCE, "pyperf", cell=ONE, out=file)
    stats = _pyperf("stats", "-b", f"{ONE} call", file)
    assert "Number of run with values: 20" in stats
    assert "Number of value per run: 100" in stats
    p50_ns = choose(REFERENCE, cell=ONE).document["cells"][0]["segments"]["call"]["p50_ns"]
    told = re.search(r"Median \+- MAD: +([\d.]+) (us|ms)", stats)
    assert told is not None, stats
    assert float(told[1]) * {"us": 1e3, "ms": 1e6}[told[2]] == pytest.approx(p50_ns, rel=0.005)
    assert "#" in _pyperf("hist", "-b", f"{ONE} call", file)
    assert "cpu_model_name" in _pyperf("metadata", file)


def test_pyperf_compares_two_runs_of_the_same_cells(tmp_path: Path) -> None:
    files = []
    for name, cost_ns in (("base", 250_000), ("head", 500_000)):
        clock = CountingClock()
        responder = Responder(clock, {**COSTS_NS, "tools/call": cost_ns})
        run_in_memory(tmp_path / name, responder, clock, eras=("stateful",))
        files.append(tmp_path / f"{name}.json")
        export(tmp_path / name, "pyperf", out=files[-1])
    said = _pyperf("compare_to", "--table", *files)
    call = next(line for line in said.splitlines() if "stateful call" in line)
    assert "1.99x slower" in call


def test_all_runs_of_a_pyperf_benchmark_have_the_same_metadata_and_one_run_a_launch() -> None:
    suite = _strict(_text("pyperf", REFERENCE))
    launches = {cell["cell"]: cell["launches"] for cell in choose(REFERENCE).document["cells"]}
    for benchmark in suite["benchmarks"]:
        cell, _, _ = benchmark["metadata"]["name"].rpartition(" ")
        assert len(benchmark["runs"]) == launches[cell]
        assert len({tuple(sorted(run.get("metadata", {}))) for run in benchmark["runs"]}) == 1


# JUnit


def _cases(text: str) -> dict[str, Any]:
    root = etree.fromstring(text.encode())
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    schema.assertValid(root)
    (suite,) = root
    cases = {str(case.get("name")): case for case in suite.iter("testcase")}
    assert suite.get("tests") == str(len(cases))
    for end, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert suite.get(count) == str(sum(case.find(end) is not None for case in cases.values()))
    return cases


def _metric(verdict: str, **more: Any) -> dict[str, Any]:
    known = {
        "segment": "call",
        "quantile": "p50",
        "base_ns": 1_000_000,
        "head_ns": 1_021_000,
        "ratio": 1.021,
        "low": 1.012,
        "high": 1.03,
        "p_adjusted": 0.0004,
        "verdict": verdict,
        "would_have_seen_percent": 1.4,
        "noise_percent": 0.6,
        "blocks_wanted": 40,
    }
    return {**known, **more}


VERDICT: dict[str, Any] = {
    "format": 1,
    "status": "complete",
    "verdict": "slower",
    "blocks": 20,
    "fewest_blocks": 9,
    "noise_percent": 0.6,
    "min_effect_percent": 2.0,
    "base": "python base.py",
    "head": "python head.py",
    "valid": True,
    "assertions": [],
    "warnings": [],
    "metrics": [
        _metric("slower"),
        _metric("same", quantile="p90", ratio=1.001, low=0.995, high=1.006),
        _metric("cannot tell", segment="setup", ratio=1.04, low=0.97, high=1.12),
        _metric("faster", segment="work", ratio=0.9, low=0.89, high=0.91),
    ],
}


def test_a_verdict_is_one_test_case_a_gated_metric_and_slower_fails(tmp_path: Path) -> None:
    folder = _story(tmp_path / "run").path
    store.write_verdict(folder, VERDICT)
    cases = _cases(_text("junit", folder))
    assert list(cases) == ["call p50", "call p90", "setup p50", "work p50"]
    assert "+2.1 % (+1.2 % to +3.0 %)" in cases["call p50"].find("failure").get("message")
    assert "after 20 blocks; about 40 would tell" in cases["setup p50"].find("skipped").text
    assert "1.4 % would have been seen" in cases["setup p50"].find("skipped").text
    assert not len(cases["call p90"])
    assert not len(cases["work p50"])
    assert cases["call p50"].get("time") == "0.001021000"


def test_a_verdict_about_nothing_is_an_error_and_no_pass(tmp_path: Path) -> None:
    folder = _story(tmp_path / "run").path
    nothing = {**VERDICT, "verdict": "cannot tell", "metrics": []}
    store.write_verdict(folder, nothing)
    (case,) = _cases(_text("junit", folder)).values()
    assert case.find("error").get("message") == "nothing was compared"


def test_an_assertion_of_a_verdict_is_a_test_case_and_failed_calls_are_one_too(
    tmp_path: Path,
) -> None:
    folder = _story(tmp_path / "run").path
    held: dict[str, dict[str, Any]] = {
        "setup.p50 < 1s": {"value_ns": 900_000_000, "ok": True, "wants": 368},
        "call.p50 < 1ms": {"value_ns": 1_300_000, "ok": False, "wants": 368},
        "call.p99 < 5ms": {"value_ns": None, "ok": None, "wants": 368},
    }
    assertions = [{"assert": text, **each} for text, each in held.items()]
    store.write_verdict(folder, {**VERDICT, "assertions": assertions, "valid": False})
    cases = _cases(_text("junit", folder))
    assert not len(cases["assert setup.p50 < 1s"])
    assert cases["assert call.p50 < 1ms"].find("failure").text == "measured 1.30 ms"
    assert "it takes 368" in cases["assert call.p99 < 5ms"].find("skipped").text
    assert "decides nothing" in cases["calls"].find("failure").text
    store.write_verdict(folder, {**VERDICT, "status": "interrupted"})
    assert "interrupted" in _cases(_text("junit", folder))["comparison"].find("error").text


def test_a_plain_run_is_one_test_case_a_cell_and_an_invalid_cell_fails(tmp_path: Path) -> None:
    refused = {"tools/call": {"error": {"code": -32000, "message": "no"}}}
    failing = _story(tmp_path / "failing", answers=refused).path
    (case,) = _cases(_text("junit", failing)).values()
    assert "invalid: " in case.find("failure").get("message")
    assert "failed calls" in case.find("failure").get("message")
    (case,) = _cases(_text("junit", _story(tmp_path / "fine").path)).values()
    assert case.find("failure") is None
    assert float(case.get("time")) == pytest.approx(0.000252)


def test_a_cell_that_could_not_be_measured_is_an_error_with_its_words(tmp_path: Path) -> None:
    broken = {"initialize": {"error": {"code": -32000, "message": "no <b>entry</b>"}}}
    (case,) = _cases(_text("junit", _story(tmp_path / "run", answers=broken).path)).values()
    assert "no <b>entry</b>" in case.find("error").text


# CSV


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_quarter_of_a_millisecond_is_250000_ns_in_the_table_and_the_header_says_so(
    tmp_path: Path,
) -> None:
    rows = _rows(_text("csv", _story(tmp_path / "run").path))
    calls = [row for row in rows if row["segment"] == "call" and row["phase"] == "steady"]
    assert len(calls) == 6 * 4
    assert {row["value_ns"] for row in calls} == {"252000"}
    assert {row["outcome"] for row in calls} == {"ok"}
    assert {row["value_ns"] for row in rows if row["segment"] == "initialize"} == {"3002000"}


def test_a_failed_call_has_a_row_and_no_value(tmp_path: Path) -> None:
    refused = {"tools/call": {"error": {"code": -32000, "message": "no"}}}
    rows = _rows(_text("csv", _story(tmp_path / "run", answers=refused).path))
    calls = [row for row in rows if row["phase"] == "steady"]
    assert {(row["outcome"], row["value_ns"]) for row in calls} == {("protocol_error", "")}


def test_every_reading_of_the_reference_is_in_the_table() -> None:
    rows = _rows(_text("csv", REFERENCE))
    counted = Counter((row["cell"], row["segment"]) for row in rows if row["phase"] == "steady")
    for cell in choose(REFERENCE).document["cells"]:
        for segment in ("call", "work", "deliver", "return"):
            assert counted[cell["cell"], segment] == cell["segments"][segment]["n"]


# HdrHistogram


def _table(text: str) -> list[list[float]]:
    head, _, *lines = text.splitlines()
    assert head.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    return [[float(word) for word in line.split()] for line in lines if line[0] != "#"]


def test_hdrhistogram_made_of_the_same_readings_has_the_same_percentiles() -> None:
    chosen = choose(REFERENCE, cell=ONE)
    text = EXPORTS["hgrm"](chosen)
    values = _steady_calls(chosen)
    histogram = HdrHistogram(1, max(values), 3)
    for reading in values:
        histogram.record_value(reading)
    *rows, last = _table(text)
    for value, share, below, _ in rows:
        theirs = float(histogram.get_value_at_percentile(100 * below / len(values)))
        assert abs(value - theirs) <= theirs / 1000
        assert below == sum(each <= value for each in values)
        assert below >= share * len(values)
    assert last == [max(values), 1.0, len(values)]
    assert f"Mean    = {sum(values) / len(values):12.3f}" in text
    assert f"Total count    = {len(values):12d}]" in text
    assert "Unit    =           ns" in text


def _steady_calls(chosen: Chosen) -> list[int]:
    (cell,) = chosen.cells
    rows = cell.calls.to_pylist()
    steady = [row for row in rows if row["phase"] == "steady" and row["outcome"] == "ok"]
    return [row["received_ns"] - row["sent_ns"] for row in steady]


def test_hgrm_asks_which_cell_and_has_nothing_of_no_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--cell"):
        _text("hgrm", REFERENCE)
    refused = {"tools/call": {"error": {"code": -32000, "message": "no"}}}
    with pytest.raises(UsageError, match="no call of"):
        _text("hgrm", _story(tmp_path / "run", answers=refused).path)


# Bencher and github-action-benchmark


def test_bencher_gets_nanoseconds_with_bounds_and_only_what_the_sample_carries() -> None:
    found = _strict(_text("bencher", REFERENCE))
    call = choose(REFERENCE).document["cells"][0]["segments"]["call"]
    bounds = {"lower_value": call["low_ns"], "upper_value": call["high_ns"]}
    assert found[f"{ONE} call p50"] == {"latency": {"value": call["p50_ns"], **bounds}}
    assert found[f"{ONE} call p99"] == {"latency": {"value": call["p99_ns"]}}
    assert f"{ONE} setup p50" in found
    assert f"{ONE} setup p99" not in found
    for measures in found.values():
        assert all(isinstance(value, int) for value in measures["latency"].values())


def test_github_action_benchmark_gets_entries_in_microseconds_with_ranges_it_can_read() -> None:
    entries = {
        entry["name"]: entry for entry in _strict(_text("github-action-benchmark", REFERENCE))
    }
    call = choose(REFERENCE).document["cells"][0]["segments"]["call"]
    entry = entries[f"{ONE} call p50"]
    assert entry["unit"] == "us"
    assert entry["value"] * 1000 == pytest.approx(call["p50_ns"])
    assert entry["extra"] == "2000 readings in 20 launches"
    sign, _, number = entry["range"].partition(" ")
    assert sign == "±"
    reach_ns = max(call["p50_ns"] - call["low_ns"], call["high_ns"] - call["p50_ns"])
    assert float(number) * 1000 == pytest.approx(reach_ns)
    assert f"{ONE} setup p99" not in entries


# Perfetto


def _events(text: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = _strict(text)["traceEvents"]
    return events


def _closed(events: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], float]]:
    """Every slice and its end, as a reader of begin and end events finds them; else it fails.

    A track's events are in order as they stand: a reader that sorts by time changes nothing.
    """
    open_: dict[tuple[int, int], list[dict[str, Any]]] = {}
    last: dict[tuple[int, int], float] = {}
    for event in events:
        if event["ph"] not in "BE":
            continue
        at = (event["pid"], event["tid"])
        assert event["ts"] >= last.get(at, 0.0)
        last[at] = event["ts"]
        if event["ph"] == "B":
            open_.setdefault(at, []).append(event)
        else:
            yield open_[at].pop(), event["ts"]
    assert not any(open_.values())


def test_a_trace_has_every_message_and_every_segment_on_named_tracks() -> None:
    chosen = choose(REFERENCE, cell=ONE)
    events = _events(EXPORTS["perfetto"](chosen))
    (cell,) = chosen.cells
    instants = Counter((e["name"], e["args"].get("id")) for e in events if e["ph"] == "i")
    of_cell = [row for row in chosen.run.message_table.to_pylist() if row["cell"] == ONE]
    assert sum(instants.values()) == len(of_cell)
    slices = list(_closed(events))
    counted = Counter(begin["name"] for begin, _ in slices)
    assert counted["search_tickets"] + counted["null"] == len(cell.calls)
    for name in ("deliver", "return", "dispatch", "work", "encode", "send", "ttfb", "decode"):
        assert counted[name] >= counted["search_tickets"]
    assert {counted[name] for name in ("setup", "imports", "initialize", "tools_list")} == {20}
    named = {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M"}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] != "M"} <= named
    assert min(e["ts"] for e in events if e["ph"] != "M") == 0


def test_the_slices_of_a_trace_are_as_long_as_the_segments_of_the_run() -> None:
    chosen = choose(REFERENCE, cell=ONE)
    found = Counter(
        round((end - begin["ts"]) * 1000)
        for begin, end in _closed(_events(EXPORTS["perfetto"](chosen)))
        if begin["cat"] == "steady" and begin["name"] == "search_tickets"
    )
    assert found == Counter(_steady_calls(chosen))


def test_what_a_probe_stamps_lies_in_the_servers_process_and_the_rest_in_ours() -> None:
    events = _events(_text("perfetto", REFERENCE, ONE))
    processes = {
        e["pid"]: e["args"]["name"].rpartition(" ")[2]
        for e in events
        if e.get("name") == "process_name"
    }
    at = {e["name"]: processes[e["pid"]] for e in events if e["ph"] == "B"}
    inside = {"dispatch", "work", "encode", "imports", "interpreter", "serving"}
    assert {name for name, process in at.items() if process == "server"} == inside


def _in_flight_together() -> Seen:
    """Two calls of one launch that overlap without nesting, and one after them."""
    names = tables.CALLS.names
    stamps = [(0, 100), (50, 150), (150, 200)]
    rows = [
        {
            **dict.fromkeys(names),
            "cell": "c",
            "launch": 0,
            "round": 0,
            "call": number,
            "phase": "steady",
            "tool": "echo",
            "outcome": "ok",
            "sent_ns": sent_ns,
            "read_ns": sent_ns + 10,
            "received_ns": received_ns,
        }
        for number, (sent_ns, received_ns) in enumerate(stamps)
    ]
    launches = tables.launch_table({})
    messages = tables.MESSAGES.empty_table()
    return Seen(
        {"cell": "c"},
        tables.CALLS.empty_table().from_pylist(rows, tables.CALLS),
        launches,
        messages,
        (),
    )


def test_calls_in_flight_together_lie_on_lanes_and_never_cross() -> None:
    cell = _in_flight_together()
    run = Run(Path("run"), {"cells": []}, cell.calls, cell.launches, cell.messages)
    chosen = Chosen(run, {"run": "run", "status": "complete"}, (cell,))
    events = _events(EXPORTS["perfetto"](chosen))
    threads = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    lanes = {(threads[b["tid"]], b["ts"], end) for b, end in _closed(events) if b["name"] == "echo"}
    assert lanes == {("calls", 0, 0.1), ("calls (2)", 0.05, 0.15), ("calls", 0.15, 0.2)}


# What servers are called


@pytest.mark.parametrize("to", list(EXPORTS))
def test_a_hostile_name_is_text_in_every_format(to: str, tmp_path: Path) -> None:
    run = _story(tmp_path / "run", server=harmless(HOSTILE).replace("\\", ""))
    chosen = choose(run.path)
    document = {**chosen.document, "scenario": HOSTILE}
    cells = tuple(cell._replace(asked={**cell.asked, "server": HOSTILE}) for cell in chosen.cells)
    text = EXPORTS[to](chosen._replace(document=document, cells=cells))
    text.encode()
    assert "\x1b" not in text
    assert "\u202e" not in text
    if to == "junit":
        assert _cases(text)
    elif to == "csv":
        words = [word for row in _rows(text) for word in row.values()]
        assert not any(word.startswith(("=", "+", "-", "@")) for word in words)
    elif to != "hgrm":
        _strict(text)


# The verb


def test_the_verb_writes_to_a_file_or_to_stdout_or_into_json(program: Program) -> None:
    to_stdout = program("export", str(REFERENCE), "--to", "bencher")
    assert to_stdout.code == 0, to_stdout.err
    file = program.folder / "run.bmf"
    assert program("export", str(REFERENCE), "--to", "bencher", "-o", str(file)).out == ""
    assert file.read_text("utf-8") == to_stdout.out
    inside = program("export", str(REFERENCE), "--to", "bencher", "--json").document
    assert inside == {"format": 1, "to": "bencher", "out": None, "content": to_stdout.out}


def test_what_cannot_be_exported_is_said_with_what_next(program: Program) -> None:
    nowhere = program("export", "nothing-here", "--to", "csv")
    assert nowhere.code == 2
    assert "no run in nothing-here" in nowhere.err
    other = program("export", str(REFERENCE), "--to", "csv", "--cell", f"{ONE}x")
    assert other.code == 64
    assert f'did you mean "{ONE}"?' in other.err
    unwritable = program("export", str(REFERENCE), "--to", "csv", "-o", "no/such/folder.csv")
    assert unwritable.code == 2
    assert "cannot be written" in unwritable.err


@pytest.mark.parametrize("to", [name for name in EXPORTS if name != "hgrm"])
def test_a_run_in_which_nothing_answered_is_exported_without_figures(
    to: str, tmp_path: Path
) -> None:
    broken = {"initialize": {"error": {"code": -32000, "message": "no"}}}
    run = _story(tmp_path / "run", answers=broken)
    assert summary.document(store.read(run.path))["cells"][0]["calls"] == 0
    text = _text(to, run.path)
    if to == "junit":
        assert _cases(text)
    elif to == "csv":
        assert not [row for row in _rows(text) if row["segment"] == "call"]
    else:
        assert " call" not in text
        _strict(text)


@pytest.mark.parametrize("to", [name for name in EXPORTS if name != "hgrm"])
def test_a_run_that_was_killed_at_once_is_exported_and_is_no_pass(to: str, tmp_path: Path) -> None:
    asked = {"cell": "c", "server": "s", "transport": "stdio", "era": "stateful", "variant": {}}
    meta = {"format": 1, "status": "running", "cells": [{**asked, "scenario": "small"}]}
    (tmp_path / "run.json").write_text(json.dumps(meta), "utf-8")
    text = _text(to, tmp_path)
    if to == "junit":
        (case,) = _cases(text).values()
        assert "no calls" in case.find("failure").text
    elif to == "csv":
        assert _rows(text) == []
    else:
        _strict(text)

"""Readings counted on one axis: nothing is lost, rare ones flatten nothing, waits are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import sessions, spread, summary
from bench.report import spreads, terminal, wording
from bench.report.html import sequences
from bench.report.html import spreads as areas
from bench.report.html.axis import Axis, round_values
from bench.waits import LONGEST, Shortened
from tests.story import CountingClock, Responder, run_in_memory

VALUES = st.lists(
    st.tuples(st.integers(0, 10**11), st.sampled_from((1, 2, 900, 3_000))), min_size=1, max_size=40
)
ENDS = st.tuples(st.integers(1, 10**11), st.integers(1, 10**11)).filter(
    lambda ends: ends[0] != ends[1]
)
COSTS_NS = {"initialize": 300_000_000, "tools/call": 250_000, "ping": 1_000}


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4))
def test_every_reading_is_counted_once_or_said_to_be_above(
    cells: dict[str, list[tuple[int, int]]],
) -> None:
    samples = {name: np.repeat(*np.array(each, np.int64).T) for name, each in cells.items()}
    found = spread.document("call", samples)
    assert json.loads(json.dumps(found)) == found
    assert all(left < right for left, right in pairwise(found["edges_ns"]))
    for cell in found["cells"]:
        assert sum(cell["counts"]) + cell["above"] == cell["n"] == len(samples[cell["cell"]])
        assert cell["max_ns"] == samples[cell["cell"]].max()


def test_seven_of_a_hundred_thousand_flatten_nothing_and_are_named() -> None:
    random = np.random.default_rng(1)
    usual = random.normal(303_000, 30_000, 99_993).clip(237_000, 900_000).astype(np.int64)
    rare = np.linspace(10_000_000, 37_599_000, 7).astype(np.int64)
    found = spread.document("call", {"cell": np.concatenate([usual, rare])})
    edges = np.array(found["edges_ns"])
    assert (edges < 1_000_000).mean() > 0.9
    (grid,) = spreads.spread_grids([found], {"cell": "cell"})
    assert grid.rows[0][-1] == "7 above, max 37.6 ms"
    assert len(grid.rows[0][1].replace(" ", "")) > spreads.LETTERS / 2


def test_two_clusters_both_stay_visible() -> None:
    found = spread.document("call", {"cell": np.array([1_000_000] * 950 + [45_000_000] * 50)})
    line = spreads.line(found["cells"][0]["counts"])
    assert line[0] == "█"
    assert line[-1] == "▁"
    assert found["logarithmic"]


@given(ENDS, st.booleans())
def test_an_axis_has_few_round_values_and_they_are_on_it(
    ends: tuple[int, int], logarithmic: bool
) -> None:
    axis = Axis(min(ends), max(ends), logarithmic)
    values = list(round_values(axis))
    assert 2 <= len(values) <= 6
    assert all(-0.1 <= axis.of(value) <= 100.1 for value in values)
    assert values == sorted(values)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=80, unique=True).map(sorted))
def test_a_cut_wait_keeps_the_order_and_says_its_length(stamps: list[int]) -> None:
    at = Shortened(np.array(stamps))
    gaps = np.diff(at.places)
    assert (gaps > 0).all()
    uncut = np.delete(gaps, at.cut)
    assert all(gap == pytest.approx(gaps.max()) for gap in gaps[at.cut])
    assert not len(uncut) or uncut.max() <= gaps.max()
    for index in at.cut:
        assert at.wait_ns(index) > LONGEST * np.quantile(np.diff(stamps), 0.75)
    assert at.of(stamps[0]) == 0


def test_a_session_is_drawn_from_its_first_message_with_the_start_cut_short(tmp_path: Path) -> None:
    clock = CountingClock()
    _, run = run_in_memory(tmp_path, Responder(clock, COSTS_NS), clock)
    first = sessions.of(run)[0]
    drawn = sequences.diagram(first, "cell")
    assert drawn["cuts"][0]["text"] == "≈ 300 ms"
    places = [message["place"] for message in drawn["messages"]]
    assert (places[0], places[-1]) == (0, 1)
    assert places == sorted(places)
    assert drawn["messages"][1]["name"] == "response to initialize"
    assert "protocolVersion" in sequences.rows(first)[0].body


def test_a_session_says_how_many_messages_it_leaves_out(tmp_path: Path) -> None:
    clock = CountingClock()
    _, run = run_in_memory(tmp_path, Responder(clock, COSTS_NS), clock, launches=1, calls=30)
    for each in sessions.of(run):
        mine = run.message_table["launch"].to_pylist().count(each.launch)
        assert len(each.messages) == sessions.SHOWN_MESSAGES
        assert each.left_out == mine - sessions.SHOWN_MESSAGES > 0


def test_a_message_of_a_run_without_transcript_is_there_without_its_text(tmp_path: Path) -> None:
    clock = CountingClock()
    _, run = run_in_memory(tmp_path, Responder(clock, COSTS_NS), clock)
    (tmp_path / "transcript.jsonl").unlink()
    assert {row.body for each in sessions.of(run) for row in sequences.rows(each)} == {""}


def test_the_spread_is_in_every_report_that_has_calls(tmp_path: Path) -> None:
    clock = CountingClock()
    _, run = run_in_memory(tmp_path, Responder(clock, COSTS_NS), clock)
    document = summary.document(run)
    assert [each["segment"] for each in document["spreads"]] == ["setup", "call", "work"]
    titles = [grid.title for grid in wording.grids(document)]
    assert sum(title.startswith("How a call is spread") for title in titles) == 1
    assert "█" in terminal.render(document)


def test_a_start_a_hundred_thousand_times_as_long_is_a_ratio_and_not_zero(tmp_path: Path) -> None:
    clock = CountingClock()
    costs = {"initialize": 1, "server/discover": 900_000_000}
    _, run = run_in_memory(tmp_path, Responder(clock, costs), clock)
    ratios = [row["ratio"] for row in summary.document(run)["comparisons"]]
    assert 0 < min(ratios) < 1e-3 or max(ratios) > 1e3
    assert "÷ 0" not in terminal.render(summary.document(run))


def test_a_median_that_is_only_known_to_be_longer_is_not_drawn() -> None:
    spreads_of = [spread.document("setup", {"cell": np.array([10_000_000, 20_000_000])})]
    cell = {"cell": "cell", "segments": {"setup": {"p50_ns": None}}}
    (drawn,) = areas.spreads({"cells": [cell], "spreads": spreads_of}, {"cell": "cell"})
    assert drawn.areas[0].middle is None

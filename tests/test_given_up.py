"""Launches that reach a limit are neither dropped nor taken for it, and what they did is kept."""

from __future__ import annotations

import numpy as np
import pytest

from bench import censored
from bench.comparison import Sample
from bench.errors import INVALID
from tests.outside import Program

MS = 1_000_000


def _sample(values: list[int], over: list[int]) -> Sample:
    return Sample(np.array(values), np.arange(len(values)), np.array(over))


def test_a_reading_beyond_the_limit_ranks_behind_all_others() -> None:
    found = censored.figures(_sample([200, 200, 300, 250], [1_000]))
    assert (found["n"], found["censored"]) == (5, 1)
    assert found["p50_ns"] == 250
    assert found["p90_ns"] is None
    assert found["over_ns"] == {"p90": 1_000, "p99": 1_000, "max": 1_000}
    assert (found["min_ns"], found["max_ns"], found["mean_ns"]) == (200, None, None)


@pytest.mark.parametrize("given_up", [3, 4])
def test_a_median_beyond_the_limit_is_no_figure(given_up: int) -> None:
    found = censored.figures(_sample([200, 100], [900, *[1_000] * (given_up - 1)]))
    assert found["p50_ns"] is None
    assert found["over_ns"]["p50"] == 900


def test_a_start_that_is_a_lottery_is_counted_with_those_that_lost(program: Program) -> None:
    delays = ("0.2", "0.2", "0.3", "60", "0.25")
    file = str(program.folder / "launches")
    options = ["-r", "5", "--setup-timeout", "4", "--probe", "off"]
    said = program.run("lottery", file, *delays, options=options)
    assert said.code == INVALID
    assert said.left == []
    cell = said.cell
    assert (cell["launches"], cell["failed_launches"]) == (5, 1)
    assert cell["outcomes"]["ok"] == cell["calls"] == 4 * 3
    started = cell["segments"]["first_reply"]
    assert (started["n"], started["censored"]) == (5, 1)
    assert started["p50_ns"] >= 250 * MS
    assert started["p90_ns"] is None
    assert started["over_ns"]["p90"] >= 3_990 * MS
    assert "p50" not in started["over_ns"]
    assert cell["segments"]["setup"]["censored"] == 1
    assert "censored" not in cell["segments"]["tools_list"]
    (lost,) = [each for each in cell["warnings"] if "ended early (timeout)" in each]
    assert "did not answer initialize: no reply within 4 s; it is still running" in lost
    shown = program("report", said.document["path"]).out
    assert "1 of 5 launches given up in first_reply after" in " ".join(shown.split())


def test_a_list_that_never_comes_leaves_the_rest_measured(program: Program) -> None:
    said = program.run("silent", "tools/list", options=["--setup-timeout", "1", "--probe", "off"])
    assert said.code == INVALID
    assert said.left == []
    cell = said.cell
    assert cell["outcomes"]["ok"] == cell["calls"] == 6
    assert cell["failed_launches"] == 2
    listed = cell["segments"]["tools_list"]
    assert (listed["n"], listed["censored"], listed["p50_ns"]) == (2, 2, None)
    assert listed["over_ns"]["p50"] >= 990 * MS  # a timer may be early by its own resolution
    assert cell["segments"]["first_reply"]["p50_ns"] > 0
    assert "censored" not in cell["segments"]["first_reply"]
    assert cell["segments"]["setup"]["p50_ns"] is None
    told = [each for each in cell["warnings"] if "called without a list of tools" in each]
    assert len(told) == 2
    assert "did not answer tools/list: no reply within 1 s" in told[0]
    shown = program("report", said.document["path"]).out
    assert "> 1.00 s" in shown or "> 1000 ms" in shown

"""The reference runs that are committed: whole, enough to say what they say, and small."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import bench
from bench import catalog
from bench.frames import LoadedRun
from tests import findings, pages
from tests.pages import TOP

REFERENCE = TOP / "results" / "reference"
RUNS = sorted(path.parent for path in REFERENCE.glob("*/run.json"))
FEWEST_LAUNCHES, FEWEST_SWEPT, CARRIES_P99 = 20, 10, 368
SWEEPS = ("payload", "catalogue")
MOST_BYTES = 20_000_000
HOMES = (b"/root/", b"/home/", b"/Users/", f"{TOP}/".encode())


@cache
def loaded(run: Path) -> LoadedRun:
    """Each is summed up once for all tests."""
    return bench.load(run)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.name))
def test_a_reference_run_is_whole_and_its_calls_carry_a_p99(run: Path) -> None:
    document = loaded(run).summary()
    assert document["status"] == "complete"
    for cell in document["cells"]:
        assert cell["failed_launches"] == 0, cell["cell"]
        assert cell["launches"] >= (FEWEST_SWEPT if run.name in SWEEPS else FEWEST_LAUNCHES)
        assert cell["outcomes"]["ok"] == cell["calls"], cell["cell"]
        for step in cell["steps"]:
            assert step["segments"]["call"]["n"] >= CARRIES_P99, (cell["cell"], step["step"])


def test_every_recipe_of_a_measured_server_is_among_them() -> None:
    found = {cell["server"] for run in RUNS for cell in loaded(run).summary()["cells"]}
    assert found >= set(catalog.recipe_files()) - {"desk"}, "`desk` is no plain call"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.name))
def test_a_summary_is_what_the_program_says_of_the_run_now(run: Path) -> None:
    now = loaded(run).segments
    pd.testing.assert_frame_equal(pd.read_parquet(run / "summary.parquet"), now, check_dtype=False)


def test_their_page_has_no_number_that_is_not_from_them() -> None:
    text = findings.PAGE.read_text("utf-8")
    assert text == pages.filled(text, findings.parts()), "make it anew: python -m tests.findings"


def test_they_are_small_and_name_nothing_of_the_machine_they_were_made_on() -> None:
    files = [path for path in REFERENCE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    for path in files:
        data = path.read_bytes()
        assert not [place for place in HOMES if place in data], path


def test_what_is_there_is_not_measured_again() -> None:
    words = (sys.executable, str(REFERENCE / "make.py"))
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=TOP)
    assert done.returncode == 0, done.stderr
    assert all(line.endswith("is there") for line in done.stdout.splitlines())

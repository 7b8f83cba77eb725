"""Terminals as people have them: 80 columns or 40, without colour, without anything but ASCII."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bench import store, summary
from bench.report import figures, narrow, spreads, terminal
from bench.report.figures import Grid, Picture
from bench.units import milliseconds

TOP = Path(__file__).parent.parent
REFERENCE = TOP / "results" / "reference" / "tickets"
DOCUMENT = summary.document(store.read(REFERENCE))
WORDS = st.text("abcxyz", min_size=1, max_size=20)
COUNTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=96)


def _grid(columns: int) -> st.SearchStrategy[Grid]:
    row = st.tuples(*[WORDS] * columns)
    return st.builds(Grid, WORDS, row, st.lists(row, min_size=1, max_size=5), picture=st.none())


@given(st.integers(2, 8).flatmap(_grid), st.integers(45, 200))
def test_a_table_fits_and_loses_no_column(grid: Grid, width: int) -> None:
    parts = list(narrow.parts(grid, width))
    assert [name for part in parts for name in part.head[1:]] == list(grid.head[1:])
    for part in parts:
        assert part.head[0] == grid.head[0]
        label = narrow.label_width(part, width)
        others = [max(cell_len(row[at]) for row in (part.head, *part.rows)) for at in _rest(part)]
        assert label + sum(others) + narrow.gap(grid, width) * len(others) <= width


def _rest(part: Grid) -> range:
    return range(1, len(part.head))


@given(COUNTS, st.integers(8, 48))
def test_a_line_of_counts_is_full_where_the_most_lie_and_empty_only_where_none_lie(
    counts: list[int], width: int
) -> None:
    line = spreads.line(counts, width=width)
    assert len(line) == width
    assert ("█" in line) == any(counts)
    assert (line.strip() == "") == (not any(counts))


def figures_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Some figures of a report that a reader must find whole: intervals, and the longest."""
    call = document["cells"][0]["segments"]["call"]
    compared = next(each for each in document["comparisons"] if each["segment"] == "call")
    return (
        figures.interval(call["low_ns"], call["high_ns"]),
        milliseconds(call["max_ns"]),
        figures.percents(compared["low"], compared["high"]),
    )


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132])
def test_no_figure_and_no_label_is_cut_in_a_narrow_terminal(width: int) -> None:
    text = terminal.render(DOCUMENT, width=width)
    assert "…" not in text
    for figure in figures_of(DOCUMENT):
        assert figure in text


@pytest.mark.parametrize("peak", range(48))
def test_a_shortened_picture_keeps_its_peaks_and_its_axis(peak: int) -> None:
    picture = f"{'▁' * peak}█{'▁' * (47 - peak)}"
    head = ("", f"0.59 ms{'1.91 ms':>41}", "beyond")
    grid = Grid("title", head, [("cell", picture, "7 above")], picture=Picture(1))
    (part,) = narrow.parts(grid, 50)
    drawn = part.rows[0][1]
    assert len(drawn) == len(part.head[1]) < 48
    assert "█" in drawn
    assert part.head[1].startswith("0.59 ms ")
    assert part.head[1].endswith(" 1.91 ms")


def test_bars_are_coloured_segment_by_segment_and_only_where_there_is_colour() -> None:
    assert "\x1b[" not in terminal.render(DOCUMENT)
    coloured = terminal.render(DOCUMENT, colour=True)
    bar = next(line for line in coloured.splitlines() if "›››░" in _bare(line))
    assert bar.count("\x1b[") >= len(("deliver", "dispatch", "work", "encode", "return"))
    assert [_bare(line) for line in coloured.splitlines()] == terminal.render(DOCUMENT).splitlines()


def _bare(line: str) -> str:
    return "".join(
        part.partition("m")[2] if at else part for at, part in enumerate(line.split("\x1b["))
    )


def test_ascii_is_ascii_whatever_a_server_is_called() -> None:
    named = json.loads(json.dumps(DOCUMENT).replace("/http/", "/größe/"))
    text = terminal.render(named, plain=True)
    assert text.isascii()
    assert "gr\\xf6\\xdfe" in text


def test_the_program_prints_ascii_where_the_locale_has_nothing_else() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "bench", "report", str(REFERENCE), "--no-color"],
        capture_output=True,
        env=environment,
        check=True,
        cwd=TOP,
    )
    assert done.stdout.isascii()
    assert b"How a call is spread" in done.stdout


@pytest.mark.parametrize(
    ("words", "variables", "coloured"),
    [((), {}, True), (("--no-color",), {}, False), ((), {"NO_COLOR": "1"}, False)],
)
def test_a_terminal_gets_colour_unless_somebody_wants_none(
    words: tuple[str, ...], variables: dict[str, str], coloured: bool
) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bench", "report", str(REFERENCE), *words]
    child = subprocess.Popen(
        command, stdout=theirs, env={**environment, "TERM": "xterm", **variables}, cwd=TOP
    )
    os.close(theirs)
    text = b"".join(_all(ours))
    assert child.wait() == 0
    assert b"How a call is spread" in text
    assert (b"\x1b[3" in text) == coloured


def _all(terminal_end: int) -> Iterator[bytes]:
    """What is printed to a terminal until its last writer has gone."""
    try:
        while piece := os.read(terminal_end, 65536):
            yield piece
    except OSError:
        pass
    finally:
        os.close(terminal_end)

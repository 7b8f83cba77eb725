"""What reports draw and say: bars in proportion, figures with units, ledgers that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import ledger, units
from bench.report import FORMATS, bars, figures, terminal, wording
from bench.segments import MISSING

PARTS = st.dictionaries(st.sampled_from(list(bars.CALL_GLYPHS)), st.integers(1, 10**9), min_size=1)
ROWS = st.lists(
    st.tuples(*[st.integers(0, 10**7)] * len(ledger.CALL_PARTS)), min_size=1, max_size=40
)


@given(PARTS, st.integers(8, 80))
def test_a_bar_is_as_long_as_asked_and_in_proportion(parts: dict[str, int], width: int) -> None:
    drawn = bars.bar(parts, bars.CALL_GLYPHS, width=width)
    assert len(drawn) == width
    total = sum(parts.values())
    for part, value in parts.items():
        letters = drawn.count(bars.CALL_GLYPHS[part])
        assert abs(letters - width * value / total) <= 1


@given(ROWS)
def test_a_ledger_adds_up_to_the_nanosecond(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, np.int64).T
    durations = dict(zip(ledger.CALL_PARTS, table, strict=True))
    durations["call"] = table.sum(axis=0)
    found = ledger.typical(durations, "call", ledger.CALL_PARTS)
    assert sum(value for part, value in found.items() if part != "call") == found["call"]
    assert durations["call"].min() <= found["call"] <= durations["call"].max()


def test_a_ledger_leaves_out_rows_that_are_not_whole() -> None:
    durations = {part: np.array([10, MISSING]) for part in ledger.CALL_PARTS}
    durations["call"] = np.array([10 * len(ledger.CALL_PARTS), 900])
    found = ledger.typical(durations, "call", ledger.CALL_PARTS)
    assert found["call"] == 10 * len(ledger.CALL_PARTS)
    assert ledger.typical({"call": durations["call"]}, "call", ledger.CALL_PARTS) == {}


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (None, "·"),
        (0, "0 ns"),
        (999, "999 ns"),
        (12_340, "12.3 µs"),
        (99_000, "99.0 µs"),
        (250_000, "0.25 ms"),
        (1_234_567, "1.23 ms"),
        (999_600, "1.00 ms"),
        (1_500_000_000, "1.50 s"),
    ],
)
def test_every_figure_has_three_digits_and_a_unit(value_ns: int | None, text: str) -> None:
    assert units.milliseconds(value_ns) == text


@given(st.integers(0, 10**11), st.integers(0, 10**11))
def test_a_larger_duration_never_reads_smaller(one: int, other: int) -> None:
    def value(text: str) -> float:
        number, unit = text.split()
        return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]

    low, high = sorted((one, other))
    assert value(units.milliseconds(low)) <= value(units.milliseconds(high)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.021, "+2.1 %"), (0.5, "-50.0 %"), (137.0, "× 137"), (0.01, "÷ 100")]
)
def test_a_ratio_reads_as_a_change_or_a_factor(ratio: float, text: str) -> None:
    assert figures.percent(ratio) == text


HOSTILE = "\x1b[31m</script>|`*_" + "\u202e" + "x" * 2000


def _document(name: str) -> dict[str, object]:
    cell = {
        "cell": f"own/{name}/stdio/stateful",
        "segments": {},
        "ledger": {"call": {}, "setup": {}},
        "wire": {"tools": None, "tool_page_ns": []},
        "outcomes": {"ok": 0},
        "steps": [],
        "calls": 0,
        "variant": {"response": "line"},
        "protocol_version": name,
        "placement": {"client": [], "server": []},
        "findings": [name],
        "warnings": [name],
    }
    return {
        "run": "run",
        "scenario": "own",
        "status": "complete",
        "host": {},
        "cells": [cell],
        "comparisons": [],
        "spreads": [],
        "warnings": [name],
    }


@pytest.mark.parametrize("form", list(FORMATS))
def test_what_a_server_says_is_shown_and_never_obeyed(form: str) -> None:
    text = FORMATS[form](_document(HOSTILE))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "x" * 1000 not in text
    if form == "markdown":
        assert "</script>" not in text
        assert "`*_" not in text


def test_a_terminal_without_unicode_gets_ascii() -> None:
    text = terminal.render(_document("server"), plain=True)
    assert text.isascii()


def test_labels_drop_what_all_cells_share() -> None:
    cells = ["t/s/stdio/stateful", "t/s/http/stateful"]
    assert wording.labels(cells) == {cells[0]: "stdio", cells[1]: "http"}
    assert wording.labels(cells[:1]) == {cells[0]: "stdio/stateful"}


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.012, 1.03, "+1.2 % to +3.0 %"),
        (0.32, 0.429, "÷ 3.12 to ÷ 2.33"),
        (1.904, 4.24, "× 1.90 to × 4.24"),
        (None, 1.0, "·"),
    ],
)
def test_both_ends_of_an_interval_are_on_one_scale(
    low: float | None, high: float | None, text: str
) -> None:
    assert figures.percents(low, high) == text

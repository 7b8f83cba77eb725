"""Comparisons along one axis: pairs, verdicts, mirrors and the break-even."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.comparison import (
    Pair,
    Sample,
    Side,
    break_even,
    compare,
    log_ratios,
    pairs,
    rounds_wanted,
)

ROUNDS = 12
MIRROR = {"slower": "faster", "faster": "slower", "same": "same", "cannot tell": "cannot tell"}


def _side(name: str, *, setup: int, call: int, noise: float = 0.0, **labels: str) -> Side:
    random = np.random.default_rng(len(name))
    values = (call * (1 + noise * random.standard_normal(ROUNDS))).astype(np.int64)
    rounds = np.arange(ROUNDS, dtype=np.int64)
    samples = {
        "setup": Sample(np.full(ROUNDS, setup, np.int64), rounds),
        "call": Sample(values, rounds),
    }
    known = {"transport": "stdio", "era": "stateful", **labels}
    return Side(name, known, {}, samples)


def _pair(base: Side, head: Side) -> Pair:
    return Pair("era", base, head, ())


def test_only_cells_that_differ_in_one_label_are_pairs() -> None:
    sides = [
        _side(f"{transport}/{era}", setup=1, call=1, transport=transport, era=era)
        for transport in ("stdio", "http")
        for era in ("stateful", "stateless")
    ]
    found = {(pair.base.cell, pair.head.cell) for pair in pairs(sides, ("transport", "era"))}
    assert found == {
        ("stdio/stateful", "http/stateful"),
        ("stdio/stateless", "http/stateless"),
        ("stdio/stateful", "stdio/stateless"),
        ("http/stateful", "http/stateless"),
    }


def test_what_was_seen_to_differ_besides_is_named_but_not_what_the_axis_implies() -> None:
    base = _side("a", setup=1, call=1)._replace(
        seen={"protocol_version": "2025-11-25", "response": "sse", "session": "kept"}
    )
    head = _side("b", setup=1, call=1, era="stateless")._replace(
        seen={"protocol_version": "2026-07-28", "response": "json", "session": "none"}
    )
    (pair,) = pairs([base, head], ("transport", "era"))
    assert pair.also_differs == ("response",)


def test_a_shift_over_all_rounds_is_told_with_its_ratio() -> None:
    pair = _pair(_side("base", setup=9, call=1_000_000), _side("head", setup=9, call=1_200_000))
    (found,) = compare([pair], ["call"])
    assert found.verdict == "slower"
    assert found.shift is not None
    assert found.shift.ratio == pytest.approx(1.2)


def test_too_few_rounds_cannot_tell_whatever_the_shift() -> None:
    base, head = _side("b", setup=1, call=1_000), _side("h", setup=1, call=9_000)
    few = [
        side._replace(
            samples={"call": Sample(side.samples["call"].values[:5], np.arange(5, dtype=np.int64))}
        )
        for side in (base, head)
    ]
    (found,) = compare([_pair(*few)], ["call"])
    assert (found.verdict, found.rounds) == ("cannot tell", 5)


@given(st.integers(1_000, 10**7), st.integers(1_000, 10**7), st.floats(0, 0.2))
def test_swapping_base_and_head_inverts_the_ratio_and_mirrors_the_verdict(
    base_ns: int, head_ns: int, noise: float
) -> None:
    base = _side("base", setup=5, call=base_ns, noise=noise)
    head = _side("other", setup=5, call=head_ns, noise=noise)
    (there,) = compare([_pair(base, head)], ["call"])
    (back,) = compare([_pair(head, base)], ["call"])
    assert there.shift is not None
    assert back.shift is not None
    assert math.log(there.shift.ratio) == pytest.approx(-math.log(back.shift.ratio), abs=1e-9)
    assert back.verdict == MIRROR[there.verdict]


def test_rounds_that_only_one_side_has_are_left_out() -> None:
    base = Sample(np.array([100, 100, 100]), np.array([0, 1, 2]))
    head = Sample(np.array([200, 200]), np.array([1, 2]))
    assert np.exp(log_ratios(base, head)) == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize(
    ("base", "head", "calls", "cheaper"),
    [
        ((400, 10), (100, 14), 75, "base"),  # dearer setup, cheaper call
        ((100, 14), (400, 10), 75, "head"),
        ((100, 10), (400, 14), None, "base"),  # cheaper in both
        ((100, 10), (100, 14), None, "base"),
        ((100, 10), (100, 10), None, None),
    ],
)
def test_the_break_even_is_where_the_costs_cross_or_never(
    base: tuple[int, int], head: tuple[int, int], calls: int | None, cheaper: str | None
) -> None:
    def shown(ours: int, theirs: int) -> str:
        return "same" if ours == theirs else "slower" if theirs > ours else "faster"

    pair = _pair(
        _side("base", setup=base[0], call=base[1]), _side("head", setup=head[0], call=head[1])
    )
    found = break_even(pair, shown(base[0], head[0]), shown(base[1], head[1]))  # type: ignore[arg-type]
    assert found is not None
    assert (found.calls, found.cheaper) == (calls, cheaper)


def test_a_difference_that_was_not_shown_has_no_break_even() -> None:
    pair = _pair(_side("base", setup=400, call=10), _side("head", setup=100, call=14))
    found = break_even(pair, "cannot tell", "slower")
    assert found is not None
    assert (found.calls, found.cheaper) == (None, "base")


def test_enough_rounds_are_those_whose_smallest_p_survives_the_correction() -> None:
    assert rounds_wanted(1) == 6
    assert rounds_wanted(12) == 9
    assert 12 * 2 ** (1 - 9) < 0.05 <= 12 * 2 ** (1 - 8)

"""Launches without common blocks: shift, interval and p against scipy, and error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, permutation_test, rankdata

from bench import stats, unpaired
from bench.versus.figures import MIN_EFFECT

LOGS = st.lists(st.floats(-3, 3), min_size=1, max_size=9).map(np.array)


@pytest.mark.parametrize(("ours", "theirs"), [(4, 4), (5, 5), (8, 12), (30, 30), (40, 45)])
def test_p_is_that_of_the_rank_sum_test(ours: int, theirs: int) -> None:
    random = np.random.default_rng(ours)
    base, head = random.normal(0, 1, ours), random.normal(0.5, 1, theirs)
    exact = ours + theirs <= unpaired.EXACT_LAUNCHES
    wanted = mannwhitneyu(head, base, method="exact" if exact else "asymptotic").pvalue
    assert unpaired.shift(base, head).p == pytest.approx(float(wanted), rel=1e-9)


def test_p_with_ties_is_that_of_all_permutations() -> None:
    base, head = np.array([1.0, 1.0, 2.0, 2.0, 3.0]), np.array([2.0, 3.0, 3.0, 4.0])

    def rank_sum(x: np.ndarray, y: np.ndarray) -> float:
        return float(rankdata(np.concatenate([x, y]))[: len(x)].sum())

    wanted = permutation_test((head, base), rank_sum, n_resamples=200, vectorized=False)
    assert unpaired.shift(base, head).p == pytest.approx(float(wanted.pvalue))


@given(LOGS, LOGS)
def test_swapping_the_sides_inverts_the_ratio_and_keeps_p(
    base: np.ndarray, head: np.ndarray
) -> None:
    there, back = unpaired.shift(base, head), unpaired.shift(head, base)
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.p == back.p
    if there.low is not None and there.high is not None:
        assert back.low is not None
        assert there.low <= there.ratio <= there.high
        assert back.low * there.high == pytest.approx(1)


def test_below_four_launches_a_side_there_is_no_interval() -> None:
    base = np.log([100.0, 101, 99])
    found = unpaired.shift(base, np.log([72.0, 71, 73]))
    assert found.ratio == pytest.approx(0.72, abs=0.001)
    assert (found.low, found.high, found.p) == (None, None, 0.1)
    assert unpaired.detectable(base, base) is None


def test_a_side_without_launches_is_refused() -> None:
    with pytest.raises(ValueError, match="0 and 1 launches"):
        unpaired.shift(np.zeros(0), np.zeros(1))


def test_the_interval_holds_the_shift_in_ninety_five_of_a_hundred() -> None:
    random, held = np.random.default_rng(3), 0
    for _ in range(1000):
        base, head = random.normal(0, 0.03, 10), random.normal(0.05, 0.03, 10)
        found = unpaired.shift(base, head)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= np.exp(0.05) <= found.high
    assert held >= 940


def _launch_logs(random: np.random.Generator, pairs: int, mean_ms: float) -> np.ndarray:
    """Log medians of five launches of 500 calls: means N(mean, 3 %), calls N(mean, 10 %)."""
    means = mean_ms * random.normal(1, 0.03, (pairs, 5, 1))
    return np.asarray(np.log(np.median(means * random.normal(1, 0.1, (pairs, 5, 500)), axis=2)))


def _slower(base: np.ndarray, head: np.ndarray) -> int:
    found = [unpaired.shift(*pair) for pair in zip(base, head, strict=True)]
    given = [stats.verdict(shift, shift.p, min_effect=MIN_EFFECT) for shift in found]
    return sum(verdict in ("slower", "faster") for verdict in given)


def test_equal_code_alarms_in_two_of_a_hundred_at_most_and_fifteen_percent_are_found() -> None:
    random = np.random.default_rng(4)
    assert _slower(_launch_logs(random, 200, 10.0), _launch_logs(random, 200, 10.0)) <= 4
    assert _slower(_launch_logs(random, 200, 10.0), _launch_logs(random, 200, 11.5)) >= 180


def test_what_would_have_been_seen_is_seen_in_nine_of_ten() -> None:
    random, found = np.random.default_rng(5), 0
    for _ in range(1000):
        base, head = random.normal(0, 0.03, 12), random.normal(0, 0.03, 12)
        percent = unpaired.detectable(base, head)
        assert percent is not None
        found += unpaired.shift(base, head + np.log1p(percent / 100)).p < 0.05
    assert 840 <= found <= 950


def test_enough_launches_are_those_whose_smallest_p_survives_the_correction() -> None:
    assert [unpaired.launches_wanted(n) for n in (1, 6, 24, 100)] == [4, 5, 7, 8]

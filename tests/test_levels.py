"""Steps and creep in series of figures: error rates by simulation with a fixed seed, and cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import ruptures
from numpy.typing import NDArray

from bench.history import levels
from bench.history.levels import look

Floats = NDArray[np.float64]
NOISE = 0.02
TIMES = 1000


def _values(logs: Floats) -> list[int]:
    return [int(value) for value in np.rint(1e6 * np.exp(logs))]


def _kinds(make: Callable[[np.random.Generator], Floats], *, judged: int = 1) -> Counter[str]:
    """What is seen in a thousand series."""
    random = np.random.default_rng(20)
    return Counter(str(look(_values(make(random)), judged=judged).kind) for _ in range(TIMES))


def _clean(random: np.random.Generator, points: int = 60) -> Floats:
    logs: Floats = random.normal(0, NOISE, points)
    return logs


def _late(random: np.random.Generator, shift: float, points: int) -> Floats:
    """A clean series of 60 of which the last points are another level."""
    logs: Floats = _clean(random) + np.log1p(shift) * (np.arange(60) >= 60 - points)
    return logs


@pytest.mark.parametrize("points", [6, 8, 12, 20, 30, 60, 120, 300])
def test_a_clean_series_alarms_in_one_of_a_hundred_at_most(points: int) -> None:
    assert _kinds(lambda random: _clean(random, points))["None"] >= 0.99 * TIMES


def test_a_hundred_clean_series_at_once_alarm_in_five_of_a_hundred_at_most() -> None:
    random = np.random.default_rng(21)
    alarms = sum(
        any(look(_values(_clean(random)), judged=100).kind for _ in range(100)) for _ in range(100)
    )
    assert alarms <= 5


@pytest.mark.parametrize("points", [10, 15, 30, 45])
def test_a_step_of_five_percent_in_two_percent_noise_is_found_in_ninety_five(points: int) -> None:
    found = _kinds(lambda random: _late(random, 0.05, points))
    assert found["step"] >= 0.95 * TIMES


def test_a_found_step_is_where_it_was_made() -> None:
    random, near = np.random.default_rng(22), 0
    for _ in range(200):
        starts = look(_values(_late(random, 0.1, 20))).starts
        near += len(starts) == 1 and abs(starts[0] - 40) <= 1
    assert near >= 190


def test_a_doubling_is_found_after_four_points() -> None:
    assert _kinds(lambda random: _late(random, 1.0, 4))["step"] == TIMES


@pytest.mark.parametrize("at", [0, 1, 30, 57, 58, 59])
@pytest.mark.parametrize("factor", [0.5, 2.0, 10.0])
def test_a_single_outlier_is_no_step(at: int, factor: float) -> None:
    random = np.random.default_rng(23)
    for _ in range(20):
        logs = _clean(random)
        logs[at] += np.log(factor)
        assert look(_values(logs)).kind is None


def test_a_lottery_of_fast_machines_is_seldom_taken_for_a_step() -> None:
    found = _kinds(lambda random: _clean(random) - 0.7 * (random.random(60) < 0.05))
    assert found["None"] >= 0.96 * TIMES


def test_neighbours_that_are_alike_are_seldom_taken_for_a_step() -> None:
    def correlated(random: np.random.Generator) -> Floats:
        logs = random.normal(0, NOISE, 60)
        for at in range(1, 60):
            logs[at] = 0.3 * logs[at - 1] + np.sqrt(1 - 0.09) * logs[at]
        return logs

    assert _kinds(correlated)["None"] >= 0.96 * TIMES


@pytest.mark.parametrize(("points", "total"), [(60, 0.12), (60, 0.3), (300, 0.15)])
def test_a_slow_creep_is_found_and_is_no_step(points: int, total: float) -> None:
    found = _kinds(lambda random: _clean(random, points) + np.linspace(0, total, points))
    assert found["creep"] >= 0.95 * TIMES


@pytest.mark.parametrize("points", [15, 30, 45])
def test_a_step_is_seldom_taken_for_a_creep(points: int) -> None:
    assert _kinds(lambda random: _late(random, 0.05, points))["creep"] <= 0.02 * TIMES


@pytest.mark.parametrize(
    ("series", "starts"),
    [
        ([224, 190, 110, 223], ()),
        ([224, 190, 215, 430, 428, 433], (3,)),
        ([224, 190, 215, 224, 190, 215], ()),
    ],
)
def test_the_runner_lottery(series: list[int], starts: tuple[int, ...]) -> None:
    assert look([value * 1000 for value in series]).starts == starts


def test_figures_that_repeat_to_the_digit_have_steps_too_but_none_below_two_percent() -> None:
    assert look([1000] * 10 + [1050] * 10).starts == (10,)
    assert look([1000] * 10 + [1010] * 10).starts == ()
    assert look([1000] * 30).kind is None


def test_what_would_have_been_found_is_found_in_about_nine_of_ten() -> None:
    random, found = np.random.default_rng(24), 0
    for _ in range(500):
        logs = _clean(random)
        percent = levels.detectable(look(_values(logs)), 60)
        assert percent is not None
        shifted = logs + np.log1p(percent / 100) * (np.arange(60) >= 60 - levels.RECENT)
        found += look(_values(shifted)).kind == "step"
    assert 400 <= found <= 490


def test_the_levels_are_those_that_pelt_finds() -> None:
    random = np.random.default_rng(25)
    for _ in range(20):
        calm = random.normal(0, 1, 40) + 4 * (np.arange(40) >= 25)
        pelt = ruptures.Pelt(model="l2", min_size=levels.SHORTEST_LEVEL, jump=1)
        assert (*levels._starts(calm, 20.0), 40) == tuple(pelt.fit(calm).predict(pen=20.0))

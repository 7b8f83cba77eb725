"""What a server against itself says of a machine: rates, the smallest shift, and doubts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from bench import certificate, gate
from bench.gate import Rule
from bench.stats import Floats

FIGURES = (("setup", 0.5), ("call", 0.5), ("call", 0.9))
RULE = Rule(looks=3)


def table(noise: float, blocks: int = 40, seed: int = 4) -> Floats:
    return np.random.default_rng(seed).normal(0, noise, (len(FIGURES), blocks))


def certified(rows: Floats) -> dict[str, Any]:
    metrics = gate.judged([(*name, row) for name, row in zip(FIGURES, rows, strict=True)], RULE)
    return certificate.certify(metrics, list(rows), RULE, each=20)


@pytest.mark.parametrize(("noise", "percent"), [(0.02, 3.0), (0.004, 1.8)])
def test_comparisons_drawn_in_bulk_say_what_the_gate_says_of_each(
    noise: float, percent: float
) -> None:
    blocks = table(noise)
    random = np.random.default_rng(1)
    drawn = certificate.draw(blocks, RULE, np.random.default_rng(1), each=20, comparisons=300)
    chosen = random.integers(0, blocks.shape[1], (300, 20))
    signs = random.choice((-1.0, 1.0), (300, 20))
    shift = math.log1p(percent / 100)
    for at in range(300):
        rows = blocks[:, chosen[at]] * signs[at]
        named = [(*name, row) for name, row in zip(FIGURES, rows, strict=True)]
        wrong = [metric.verdict in ("slower", "faster") for metric in gate.judged(named, RULE)]
        assert any(wrong) == bool(drawn.alarms[:, at].any())
        alone = [(*FIGURES[1], rows[1] + shift), *named[:1], *named[2:]]
        slower = gate.judged(alone, RULE)[0].verdict == "slower"
        assert slower == bool(drawn.found_from[1, at] < shift)


def test_a_shift_of_the_smallest_size_is_found_in_nine_of_ten_fresh_comparisons() -> None:
    percent = certified(table(0.012, blocks=400))["metrics"][1]["detectable_percent"]
    fresh = np.random.default_rng(9).normal(math.log1p(percent / 100), 0.012, (400, 20))
    quiet = [(FIGURES[0][0], 0.5, np.zeros(20)), (FIGURES[2][0], 0.9, np.zeros(20))]
    said = [gate.judged([("call", 0.5, row), *quiet], RULE)[0].verdict for row in fresh]
    assert 0.84 <= said.count("slower") / 400 <= 0.96


def test_nothing_below_the_minimum_effect_is_claimed_to_be_found() -> None:
    assert certified(table(0.001))["metrics"][0]["detectable_percent"] > 1.5


def test_an_interval_holds_its_rate_and_is_no_narrower_than_the_comparisons_allow() -> None:
    for blocks in (20, 400):
        found = certified(table(0.05, blocks))
        low, high = (found[f"suite_{end}_percent"] for end in ("low", "high"))
        alarms = round(found["suite_percent"] * found["comparisons"] / 100)
        least = binomtest(alarms, found["comparisons"]).proportion_ci()
        assert low <= 100 * least.low
        assert 100 * least.high <= high


def test_a_favoured_side_and_blocks_that_go_together_are_doubts() -> None:
    assert certified(table(0.01))["doubts"] == []
    favoured = table(0.01)
    favoured[1] += 0.02
    (doubt,) = certified(favoured)["doubts"]
    assert doubt.startswith("call p50: the server differs from itself by +1.96 %")
    drifting = table(0.01)
    drifting[0] = np.sin(np.arange(40) / 6) * 0.05
    assert any(
        "a block goes with the one before it" in each for each in certified(drifting)["doubts"]
    )


def test_too_few_blocks_a_comparison_find_nothing_rather_than_all() -> None:
    rows = table(0.01, blocks=8)
    metrics = gate.judged([(*name, row) for name, row in zip(FIGURES, rows, strict=True)], RULE)
    found = certificate.certify(metrics, list(rows), RULE, each=8)
    assert found["suite_percent"] == 0
    assert [metric["detectable_percent"] for metric in found["metrics"]] == [None] * 3

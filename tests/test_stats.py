"""Quantiles, intervals, paired tests and verdicts, against hand counts, scipy and simulation."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import quantile_test, wilcoxon

from bench.power import blocks_wanted, detectable
from bench.stats import (
    Floats,
    Ints,
    Shift,
    describe,
    hodges_lehmann,
    holm,
    median_interval,
    modes,
    quantile,
    rank_quantile,
    verdict,
    wants,
)

MS = 1_000_000
durations = st.lists(st.integers(0, 10**12), min_size=1, max_size=400)
shares = st.integers(1, 999).map(lambda share: share / 1000)
sides = st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1, max_size=20)
MIRROR = {"slower": "faster", "faster": "slower", "same": "same", "cannot tell": "cannot tell"}


def order_interval(values: Ints, q: float) -> tuple[float, float]:
    low, high = np.asarray(quantile_test(values, p=q).confidence_interval(0.95)).tolist()
    return low, high


def launches(
    draw: np.random.Generator, sizes: list[int], *, between: float, within: float
) -> tuple[Ints, Ints]:
    """Calls of median 1 ms whose launches differ by a share `between`, their calls by `within`."""
    launch = np.repeat(np.arange(len(sizes)), sizes)
    effect = between * draw.standard_normal(len(sizes))[launch]
    noise = within * draw.standard_normal(len(launch))
    return (MS * np.exp(effect + noise)).astype(np.int64), launch


def mixed(draw: np.random.Generator, counts: tuple[int, int], centres: tuple[float, float]) -> Ints:
    parts = [
        c * np.exp(0.05 * draw.standard_normal(n)) for n, c in zip(counts, centres, strict=True)
    ]
    return draw.permutation(np.concatenate(parts)).astype(np.int64)


def test_the_median_of_one_two_three_four_is_two() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2
    assert rank_quantile([4, 2, 3, 1], 0.5) == 2
    assert describe([4, 2, 3, 1], [0, 0, 1, 1], seed=1).p50_ns == 2


def test_merged_workers_keep_the_quantiles_of_the_merged_calls() -> None:
    merged = [10] * 1000 + [2000] * 10
    assert [rank_quantile(merged, q) for q in (0.95, 0.99, 0.999)] == [10, 10, 2000]
    assert quantile(merged, 0.99) == 10
    assert quantile(merged, 0.999) is None


def test_p99_of_forty_calls_is_withheld_and_never_beyond_the_maximum() -> None:
    values = [*np.linspace(470, 5200, 39).astype(int).tolist(), 6996]
    assert quantile(values, 0.99) is None
    assert rank_quantile(values, 0.99) == 6996


def test_p99_of_twenty_calls_is_withheld_and_says_how_many_it_takes() -> None:
    described = describe(list(range(20)), [0] * 20, seed=1)
    assert (described.p90_ns, described.p99_ns, described.wants) == (None, None, 368)


def test_a_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="of 0 readings"):
        rank_quantile([], 0.5)
    with pytest.raises(ValueError, match=r"quantile 1\.5"):
        rank_quantile([1], 1.5)


@given(durations, shares)
def test_a_quantile_is_the_smallest_reading_with_its_share_at_or_below(
    values: list[int], q: float
) -> None:
    share = Fraction(str(q))
    enough = [v for v in values if Fraction(sum(w <= v for w in values), len(values)) >= share]
    assert rank_quantile(values, q) == min(enough)


@given(durations, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_the_rule_is_the_inverted_cdf_of_numpy(values: list[int], q: float) -> None:
    assert rank_quantile(values, q) == np.quantile(values, q, method="inverted_cdf")


def test_a_rank_does_not_slip_by_the_rounding_of_a_product() -> None:
    assert rank_quantile(list(range(1, 101)), 0.07) == 7


@pytest.mark.parametrize(
    ("q", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.1, 36)]
)
def test_a_quantile_wants_the_n_from_which_scipy_gives_a_finite_interval(q: float, n: int) -> None:
    assert wants(q) == n
    assert np.all(np.isfinite(order_interval(np.arange(n), q)))
    assert not np.all(np.isfinite(order_interval(np.arange(n - 1), q)))
    assert quantile(list(range(n)), q) is not None
    assert q == 0.5 or quantile(list(range(n - 1)), q) is None


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1])
def test_no_sample_bounds_a_quantile_at_the_end(q: float) -> None:
    with pytest.raises(ValueError, match="no sample bounds"):
        wants(q)


def test_a_sample_of_nothing_is_described_by_none() -> None:
    described = describe([], [], seed=1)
    assert (described.n, described.launches, described.wants) == (0, 0, 368)
    figures = (described.min_ns, described.max_ns, described.mean_ns, described.p50_ns)
    assert {*figures, described.low_ns, described.high_ns, described.p90_ns} == {None}


def test_one_reading_has_a_median_and_no_interval() -> None:
    described = describe([7], [3], seed=1)
    assert (described.n, described.launches, described.p50_ns, described.mean_ns) == (1, 1, 7, 7)
    assert (described.low_ns, described.high_ns, described.p90_ns) == (None, None, None)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 9)), min_size=1, max_size=500))
def test_figures_stand_in_order(rows: list[tuple[int, int]]) -> None:
    values, launch = zip(*rows, strict=True)
    d = describe(values, launch, seed=1)
    figures = [d.min_ns, d.p50_ns, d.p90_ns, d.p99_ns, d.max_ns]
    shown = [figure for figure in figures if figure is not None]
    assert shown == sorted(shown)
    assert {*shown} <= {*values}
    assert d.mean_ns is not None
    assert min(values) <= d.mean_ns <= max(values)
    assert (d.low_ns is None) == (len(rows) < 6)
    if d.low_ns is not None and d.high_ns is not None and d.p50_ns is not None:
        assert d.low_ns <= d.p50_ns <= d.high_ns


@given(st.integers(6, 3000), st.sampled_from([0.5, 0.2, 0.9]))
def test_one_launch_has_the_order_statistics_interval_of_scipy(n: int, q: float) -> None:
    values = np.arange(n) * 3
    ours = median_interval(values, np.zeros(n, np.int64), q=q, seed=1)
    if n < wants(q):
        assert ours is None
    else:
        assert ours == order_interval(values, q)


def test_an_interval_repeats_with_its_seed_and_ignores_the_order_and_names_of_launches() -> None:
    draw = np.random.default_rng(1)
    values, launch = launches(draw, [30] * 8, between=0.03, within=0.1)
    order = np.argsort(draw.permutation(len(values)))
    shuffled = median_interval(values[order], launch[order] * 7 - 3, seed=5)
    assert median_interval(values, launch, seed=5) == shuffled


def test_readings_and_launch_ids_must_pair_up() -> None:
    with pytest.raises(ValueError, match="2 launch ids"):
        median_interval([1, 2, 3], [0, 0], seed=1)


def resampled_one_by_one(values: Ints, launch: Ints, *, q: float) -> Ints:
    draw = np.random.default_rng(2)
    groups = [values[launch == one] for one in np.unique(launch)]
    quantiles = []
    for _ in range(2000):
        chosen = [groups[i] for i in draw.integers(0, len(groups), len(groups))]
        drawn = np.concatenate([draw.choice(group, len(group)) for group in chosen])
        quantiles.append(rank_quantile(drawn, q))
    return np.array(quantiles)


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("sizes", [[100] * 10, [5] * 12, [600, 40, 10, 10, 10, 300], [1] * 40])
def test_the_bootstrap_agrees_with_one_that_draws_every_call(sizes: list[int], q: float) -> None:
    values, launch = launches(np.random.default_rng(3), sizes, between=0.03, within=0.1)
    ours = median_interval(values, launch, q=q, seed=1)
    slow = resampled_one_by_one(values, launch, q=q)
    assert ours is not None
    # The interval is expanded; against plain percentiles it must hold 95 % and not run away.
    assert np.mean((slow >= ours[0]) & (slow <= ours[1])) >= 0.95
    plain = np.quantile(slow, 0.995) - np.quantile(slow, 0.005)
    assert ours[1] - ours[0] <= 1.5 * plain


def test_a_long_launch_weighs_as_many_calls_as_it_has() -> None:
    values = np.array([100] * 9000 + [200] * 20)
    launch = np.array([0] * 3000 + [1] * 3000 + [2] * 3000 + [3] * 10 + [4] * 10)
    assert median_interval(values, launch, seed=1) == (100, 200)
    evenly = np.array([100] * 3000 + [200] * 2000)
    assert median_interval(evenly, np.repeat(np.arange(50), 100), seed=1) == (100, 200)


@pytest.mark.parametrize(
    ("sizes", "between", "least"),
    [
        ([100] * 10, 0.03, 0.92),
        ([100] * 20, 0.03, 0.92),
        ([100] * 5, 0.03, 0.90),
        ([1000] * 10, 0.03, 0.90),
        ([200, 20, 100, 50, 400, 100, 10, 100, 100, 60], 0.03, 0.88),
        ([100] * 3, 0.03, 0.92),
        ([500] * 2, 0.03, 0.92),
        ([1] * 20, 0.03, 0.92),
        ([100] * 10, 0.0, 0.95),
    ],
)
def test_the_interval_covers_the_truth(sizes: list[int], between: float, least: float) -> None:
    draw = np.random.default_rng(4)
    hits = 0
    for seed in range(300):
        interval = median_interval(*launches(draw, sizes, between=between, within=0.1), seed=seed)
        hits += interval is not None and interval[0] <= MS <= interval[1]
    assert hits / 300 >= least


def test_thinning_a_large_sample_costs_no_precision() -> None:
    calls = np.sort((MS * np.exp(0.1 * np.random.default_rng(5).standard_normal(5000))).astype(int))
    low, high = median_interval(np.tile(calls, 20), np.repeat(np.arange(20), 5000), seed=1) or (
        0,
        0,
    )
    # What is left is the noise of the calls, 1.2533 σ / sqrt(n), times the expanded t, twice.
    expected = 2 * 2.1 * 1.2533 * 0.1 / math.sqrt(100_000)
    assert (high - low) / MS == pytest.approx(expected, rel=0.3)


def test_launches_that_differ_widen_the_interval_more_calls_do_not_narrow_it() -> None:
    draw = np.random.default_rng(5)
    widths = []
    for calls in (1000, 50_000):
        low, high = median_interval(
            *launches(draw, [calls] * 10, between=0.05, within=0.1), seed=1
        ) or (0, 0)
        widths.append((high - low) / MS)
    assert min(widths) > 0.03


@pytest.mark.parametrize("n", [1, 2, 5, 6, 8, 12, 20, 50, 51, 80])
def test_p_is_that_of_wilcoxon(n: int) -> None:
    draw = np.random.default_rng(n)
    for _ in range(10):
        logs = draw.standard_normal(n) + 0.3 * draw.standard_normal()
        method: Literal["exact", "approx"] = "exact" if n <= 50 else "approx"
        theirs = wilcoxon(logs, method=method, correction=n > 50).pvalue
        assert hodges_lehmann(logs).p == pytest.approx(theirs, abs=1e-12)


def test_p_is_exact_where_blocks_tie_and_drops_those_that_did_not_move() -> None:
    # Of 2^4 signs of ranks 1, 2.5, 2.5, 4 two reach a sum of 1 or less at either end.
    assert hodges_lehmann(np.array([-1.0, 2.0, 2.0, 3.0])).p == 4 / 16
    assert hodges_lehmann(np.array([0.0, -1.0, 2.0, 2.0, 3.0, 0.0])).p == 4 / 16
    # Four ranks of 2.5 and one of 5: of 2^5 signs twelve reach 5 or less.
    assert hodges_lehmann(np.array([1.0, 1.0, 1.0, 1.0, -2.0])).p == 24 / 32


def test_blocks_that_did_not_move_are_no_evidence() -> None:
    shift = hodges_lehmann(np.zeros(12))
    assert shift == Shift(1.0, 1.0, 1.0, 1.0)
    assert verdict(shift, 1.0) == "same"


@pytest.mark.parametrize(("n", "p"), [(6, 0.03125), (8, 0.0078125), (10, 2**-9), (12, 2**-11)])
def test_the_smallest_p_is_that_of_all_blocks_on_one_side(n: int, p: float) -> None:
    assert hodges_lehmann(np.arange(1.0, n + 1)).p == p


def test_five_blocks_have_a_p_and_no_interval_and_cannot_tell() -> None:
    shift = hodges_lehmann(np.full(5, 0.5))
    assert (shift.low, shift.high, shift.p) == (None, None, 0.0625)
    assert verdict(shift, shift.p) == "cannot tell"


def test_the_shift_is_the_median_of_the_walsh_averages() -> None:
    # Of the 21 averages of 1, 2, 4, 8, 16 and 32 the eleventh is 8.5; the interval holds them all.
    shift = hodges_lehmann(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))
    assert math.log(shift.ratio) == pytest.approx(8.5)
    assert shift.low is not None
    assert shift.high is not None
    assert (math.log(shift.low), math.log(shift.high)) == pytest.approx((1, 32))


@pytest.mark.parametrize("bad", [[], [0.0, math.inf], [math.nan]])
def test_a_log_ratio_that_is_none_is_an_error(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="finite log ratio"):
        hodges_lehmann(np.array(bad))


@given(
    st.lists(st.floats(-1, 1), min_size=6, max_size=50, unique_by=abs).filter(lambda x: 0 not in x)
)
def test_the_interval_leaves_out_one_exactly_when_p_is_below_five_percent(x: list[float]) -> None:
    shift = hodges_lehmann(np.array(x))
    assert shift.low is not None
    assert shift.high is not None
    walsh = (np.add.outer(x, x) / 2).ravel()
    if np.abs(walsh).min() > 1e-9:
        assert (shift.low > 1 or shift.high < 1) == (shift.p <= 0.05)


@given(sides)
def test_swapping_base_and_head_inverts_the_ratio_and_mirrors_the_verdict(
    pairs: list[tuple[int, int]],
) -> None:
    base, head = np.log(np.array(pairs, dtype=np.float64)).T
    there, back = hodges_lehmann(head - base), hodges_lehmann(base - head)
    assert back.p == there.p
    assert max(there.ratio, back.ratio) >= 1
    assert min(there.ratio, back.ratio) == 1 / max(there.ratio, back.ratio)
    for p in (0.001, there.p, 1.0):
        for effect in (0.0, 0.02, 0.3):
            mirrored = MIRROR[verdict(back, p, min_effect=effect)]
            assert verdict(there, p, min_effect=effect) == mirrored


@pytest.mark.parametrize("log_ratio", [math.log1p(0.02), math.log(1.3), 1e-12, 0.0])
def test_the_mirror_holds_at_the_edge_of_the_minimum_effect(log_ratio: float) -> None:
    for nudge in (-1e-16, 0.0, 1e-16):
        there = hodges_lehmann(np.full(8, log_ratio + nudge))
        back = hodges_lehmann(np.full(8, -log_ratio - nudge))
        for effect in (0.02, 0.3):
            mirrored = MIRROR[verdict(back, back.p, min_effect=effect)]
            assert verdict(there, there.p, min_effect=effect) == mirrored


@pytest.mark.parametrize(
    ("shift", "p", "said"),
    [
        (Shift(1.10, 1.05, 1.15, 0.001), 0.001, "slower"),
        (Shift(1.02, 1.01, 1.03, 0.001), 0.001, "slower"),
        (Shift(0.90, 0.85, 0.95, 0.001), 0.001, "faster"),
        (Shift(1.01, 1.005, 1.015, 0.001), 0.001, "same"),
        (Shift(1.015, 1.005, 1.025, 0.001), 0.001, "slower"),
        (Shift(1.00, 0.99, 1.01, 0.9), 0.9, "same"),
        (Shift(1.10, 1.05, 1.15, 0.001), 0.06, "cannot tell"),
        (Shift(1.10, 0.99, 1.21, 0.04), 0.04, "cannot tell"),
        (Shift(1.00, 0.95, 1.05, 0.9), 0.9, "cannot tell"),
        (Shift(1.10, None, None, 0.06), 0.01, "cannot tell"),
    ],
)
def test_a_verdict_needs_size_and_evidence(shift: Shift, p: float, said: str) -> None:
    assert verdict(shift, p) == said


def test_holm_multiplies_by_the_tests_left_and_never_steps_back() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_raises_p_values_keeps_their_order_and_stays_below_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(a <= b <= min(1.0, len(p) * a) for a, b in zip(p, adjusted, strict=True))
    assert [b for _, b in sorted(zip(p, adjusted, strict=True))] == sorted(adjusted)


def alarms(
    rounds: int, blocks: int, *, noise: float, shift: float = 0, effect: float = 0.02
) -> float:
    draw = np.random.default_rng(6)
    said = 0
    for _ in range(rounds):
        logs = noise * draw.standard_normal(blocks) + math.log1p(shift)
        found = hodges_lehmann(logs)
        said += verdict(found, found.p, min_effect=effect) in ("slower", "faster")
    return said / rounds


def test_the_same_server_against_itself_raises_hardly_an_alarm() -> None:
    assert alarms(1000, 20, noise=0.019) <= 0.01
    # R4: launch means spread by 3 %, so a block's log ratio by 3 % times the root of two.
    assert alarms(400, 12, noise=0.03 * math.sqrt(2), effect=0.05) <= 0.02


def test_a_true_shift_is_found() -> None:
    assert alarms(400, 12, noise=0.03 * math.sqrt(2), shift=0.15, effect=0.05) >= 0.90
    assert alarms(400, 20, noise=0.0051, shift=0.02) >= 0.90  # as large as what matters
    assert alarms(400, 20, noise=0.0051, shift=0.005) == 0.0  # shown, and too small to matter
    assert alarms(400, 20, noise=0.019, shift=0.05) >= 0.95


def test_holm_lets_one_suite_in_twenty_alarm_however_many_metrics_it_has() -> None:
    draw = np.random.default_rng(7)
    suites = [min(holm(p_values)) < 0.05 for p_values in draw.random((3000, 100)).tolist()]
    assert 0.038 <= np.mean(suites) <= 0.062  # 0.05 and three standard errors


def test_a_hundred_metrics_of_the_same_server_hardly_alarm_at_all() -> None:
    draw = np.random.default_rng(8)
    for _ in range(15):
        shifts = [hodges_lehmann(logs) for logs in 0.019 * draw.standard_normal((100, 20))]
        adjusted = holm([shift.p for shift in shifts])
        said = {verdict(shift, p) for shift, p in zip(shifts, adjusted, strict=True)}
        assert said <= {"same", "cannot tell"}


@pytest.mark.parametrize("blocks", [8, 12, 20, 40])
def test_a_detectable_shift_is_seen_nine_times_in_ten(blocks: int) -> None:
    draw = np.random.default_rng(8)
    claims = [detectable(0.02 * draw.standard_normal(blocks)) for _ in range(200)]
    percent = float(np.mean([claim for claim in claims if claim is not None]))
    shift = math.log1p(percent / 100)
    runs = 0.02 * draw.standard_normal((500, blocks)) + shift
    assert np.mean([hodges_lehmann(run).p < 0.05 for run in runs]) >= 0.87


def test_one_wild_block_hardly_moves_what_is_detectable() -> None:
    logs = 0.02 * np.random.default_rng(9).standard_normal(20)
    calm = detectable(logs)
    logs[3] = 5.0
    wild = detectable(logs)
    assert calm is not None
    assert wild is not None
    assert calm / 1.5 <= wild <= calm * 1.5


def test_fewer_blocks_than_the_test_needs_detect_nothing() -> None:
    assert detectable(np.arange(5.0)) is None
    assert detectable(np.arange(6.0)) is not None
    assert detectable(np.arange(7.0), level=0.01) is None
    assert blocks_wanted(np.array([0.01]), 0.02) == 6


@given(st.lists(st.floats(-0.2, 0.2), min_size=6, max_size=40), st.floats(0.001, 0.5))
def test_the_blocks_wanted_are_the_first_that_detect_the_effect(
    x: list[float], effect: float
) -> None:
    logs = np.array(x)
    percent = detectable(logs)
    assert percent is not None
    if abs(percent / 100 - effect) > 1e-9:
        assert (percent / 100 <= effect) == (blocks_wanted(logs, effect) <= len(logs))


@pytest.mark.parametrize("centres", [(0.1 * MS, 44 * MS), (MS, 1.5 * MS)])
@pytest.mark.parametrize("counts", [(50, 50), (90, 10), (10, 90), (500, 500), (9000, 1000)])
def test_two_modes_are_found_where_they_are(
    counts: tuple[int, int], centres: tuple[float, float]
) -> None:
    draw = np.random.default_rng(10)
    found = [modes(mixed(draw, counts, centres)) for _ in range(20)]
    assert sum(len(centres_found) == 2 for centres_found in found) >= 19
    assert all(pair == pytest.approx(centres, rel=0.1) for pair in found if len(pair) == 2)


UNIMODAL: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda draw, n: MS * (1 + 0.1 * draw.standard_normal(n)),
    "narrow lognormal": lambda draw, n: MS * np.exp(0.05 * draw.standard_normal(n)),
    "wide lognormal": lambda draw, n: MS * np.exp(draw.standard_normal(n)),
    "exponential tail": lambda draw, n: MS + draw.exponential(0.3 * MS, n),
    "a few outliers": lambda draw, n: (
        MS * np.exp(0.05 * draw.standard_normal(n) + 4 * (draw.random(n) < 0.01))
    ),
}


@pytest.mark.parametrize("shape", UNIMODAL)
@pytest.mark.parametrize("n", [10, 20, 100, 1000])
def test_one_heap_is_hardly_ever_taken_for_two(shape: str, n: int) -> None:
    draw = np.random.default_rng(11)
    found = [modes(UNIMODAL[shape](draw, n).astype(np.int64)) for _ in range(300)]
    assert sum(len(centres) > 1 for centres in found) <= 3


def test_three_modes_are_three_and_a_handful_is_one() -> None:
    assert modes([100] * 50 + [1000] * 40 + [44_000] * 30) == (100, 1000, 44_000)
    assert modes([100, 101, 44_000, 44_001]) == (101,)
    assert modes([0, 0, 0]) == (0,)
    assert modes([7]) == (7,)
    assert modes([]) == ()


@given(durations)
def test_modes_are_readings_in_ascending_order(values: list[int]) -> None:
    found = modes(values)
    assert list(found) == sorted(set(found))
    assert {*found} <= {*values}

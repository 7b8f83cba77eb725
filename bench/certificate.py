"""What a machine was found to tell apart, kept by its class of hosts and quoted from then on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from bench import fingerprint, power, stats
from bench.gate import Metric, Rule
from bench.stats import Floats

FOLDER = "aa"
COMPARISONS = 2_000
POOLS, EACH_POOL = 100, 500
QUOTED = ("target", "made", "blocks", "suite_percent", "call_noise_percent", "host_class")
LEVEL = 0.05  # of the doubts about a certificate, all figures together


class Drawn(NamedTuple):
    """By figure and comparison: whether it alarms, and from which shift (log) on it says slower."""

    alarms: NDArray[np.bool_]
    found_from: Floats


def quoted(host: Mapping[str, Any], results: Path) -> dict[str, Any] | None:
    """The certificate of such a host, as far as `ab` quotes it; None where none can be read."""
    try:
        found = json.loads(place(host, results).read_text("utf-8"))
        return {key: found[key] for key in QUOTED}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def place(host: Mapping[str, Any], results: Path) -> Path:
    """Where the certificate of a class of hosts is kept."""
    name = "".join(c if c.isalnum() else "-" for c in fingerprint.host_class(host))
    return results / FOLDER / f"{name}.json"


def certify(
    found: Sequence[Metric], ratios: Sequence[Floats], rule: Rule, *, each: int
) -> dict[str, Any]:
    """False alarms, noise, and what `each` blocks find in nine of ten runs, from blocks of one
    server against itself.

    A comparison draws `each` of the blocks, with replacement, and tosses a coin for which side is
    base: under the null that is all that a label means. Metrics of one block stay together. An
    interval is as wide as resampling of the blocks themselves makes it, and no narrower than so
    many comparisons leave open (Clopper and Pearson).
    """
    random = np.random.default_rng(1)
    table = np.stack(ratios)
    drawn = draw(table, rule, random, each=each, comparisons=COMPARISONS)
    pools = _pools(table, rule, random, each)
    any_figure: NDArray[np.bool_] = np.logical_or.reduce(drawn.alarms, axis=0)
    suite = _rate(any_figure, pools[:, -1])
    return {
        "comparisons": COMPARISONS,
        "per_comparison": each,
        "blocks": int(table.shape[1]),
        "suite_percent": suite[0],
        "suite_low_percent": suite[1],
        "suite_high_percent": suite[2],
        "call_noise_percent": next(
            (m.noise_percent for m in found if (m.segment, m.quantile) == ("call", "p50")), None
        ),
        "metrics": [
            _metric(metric, table[at], drawn.found_from[at], _rate(drawn.alarms[at], pools[:, at]))
            for at, metric in enumerate(found)
        ],
        "doubts": list(_doubts(found, table)),
    }


def draw(
    table: Floats, rule: Rule, random: np.random.Generator, *, each: int, comparisons: int
) -> Drawn:
    """What the rule says in comparisons of `each` blocks (columns) of all figures (rows).

    A shift moves all Walsh averages alike: it is found from where it lifts the lower end of the
    test's interval above 0, and the upper end of the shown one to the minimum effect.
    """
    chosen = random.integers(0, table.shape[1], (comparisons, each))
    signs = random.choice((-1.0, 1.0), (comparisons, each))
    test = stats.walsh_outside(each, rule.per_look / len(table))
    shown = stats.walsh_outside(each, 2 * stats.TAIL)
    if min(test, shown) < 0:
        never = np.full((len(table), comparisons), math.inf)
        return Drawn(np.isfinite(never), never)
    least = math.log1p(rule.min_effect)
    up, down = [], []
    for row in table:
        walsh = np.sort(stats.walsh_averages(row[chosen] * signs), axis=1)
        up.append(np.maximum(-walsh[:, test], least - walsh[:, -1 - shown]))
        down.append(np.maximum(walsh[:, -1 - test], least + walsh[:, shown]))
    return Drawn((np.array(up) < 0) | (np.array(down) < 0), np.array(up))


def _pools(table: Floats, rule: Rule, random: np.random.Generator, each: int) -> Floats:
    """The rates of each figure, and last of any, in resamples of the blocks: one row a resample."""
    rates = []
    for _ in range(POOLS):
        pool = table[:, random.integers(0, table.shape[1], table.shape[1])]
        alarms = draw(pool, rule, random, each=each, comparisons=EACH_POOL).alarms
        rates.append([*alarms.mean(axis=1), alarms.any(axis=0).mean()])
    return np.array(rates)


def _metric(
    metric: Metric, row: Floats, found_from: Floats, rate: tuple[float, float, float]
) -> dict[str, Any]:
    smallest = float(np.quantile(found_from, 0.9, method="inverted_cdf"))
    return {
        "segment": metric.segment,
        "quantile": metric.quantile,
        "noise_percent": 100 * power.noise(row),
        "detectable_percent": 100 * math.expm1(smallest) if math.isfinite(smallest) else None,
        "ratio": metric.shift.ratio,
        "low": metric.shift.low,
        "high": metric.shift.high,
        "false_alarm_percent": rate[0],
        "low_percent": rate[1],
        "high_percent": rate[2],
        "neighbours": _neighbours(row),
    }


def _rate(alarms: NDArray[np.bool_], pools: Floats) -> tuple[float, float, float]:
    """A rate in percent with its 95 % interval."""
    low, high = binomtest(int(alarms.sum()), len(alarms)).proportion_ci()
    ends = np.quantile(pools, (0.025, 0.975))
    return (
        100 * float(alarms.mean()),
        100 * min(float(low), float(ends[0])),
        100 * max(float(high), float(ends[1])),
    )


def _doubts(found: Sequence[Metric], table: Floats) -> Iterator[str]:
    """Sides that differ though they are the same, and blocks that do not vary by themselves."""
    adjusted = stats.holm([metric.shift.p for metric in found])
    for metric, row, p in zip(found, table, adjusted, strict=True):
        name = f"{metric.segment} {metric.quantile}"
        if p < LEVEL:
            shift = 100 * (metric.shift.ratio - 1)
            yield f"{name}: the server differs from itself by {shift:+.2f} %: one side is favoured"
        together = _neighbours(row)
        if abs(together) > power.NORMAL.inv_cdf(1 - LEVEL / len(found) / 2) / math.sqrt(len(row)):
            yield (
                f"{name}: a block goes with the one before it (correlation {together:+.2f}): the "
                "machine drifts, and there are fewer independent blocks than it seems"
            )


def _neighbours(row: Floats) -> float:
    """Correlation of each block with the next; 0 where blocks do not vary."""
    before, after = row[:-1], row[1:]
    if len(row) < 3 or not before.std() or not after.std():
        return 0.0
    return float(np.corrcoef(before, after)[0, 1])

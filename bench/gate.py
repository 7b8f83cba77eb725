"""What blocks of pairs say of head against base: metric by metric, and whether to look further."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench import power, stats
from bench.comparison import Sample
from bench.stats import Shift, Verdict

GATED: tuple[tuple[str, float], ...] = (
    ("setup", 0.5),
    ("first_result", 0.5),
    ("call", 0.5),
    ("call", 0.9),
    ("call", 0.99),
    ("work", 0.5),
    ("boundary", 0.5),
)
NAMES = {0.5: "p50", 0.9: "p90", 0.99: "p99"}
FEWEST_BLOCKS = 6
TAIL_FROM = 0.99  # from this quantile on a block must carry it by itself
ORDER: tuple[Verdict, ...] = ("slower", "cannot tell", "faster", "same")

Samples = Mapping[str, Sample]


class Rule(NamedTuple):
    """How much of a shift matters, and how sure one must be; fixed before the first look.

    `level` is of the whole decision. It is shared out over `looks`, so that looking again after
    more blocks does not raise the rate of false alarms (Bonferroni over looks).
    """

    min_effect: float = 0.02
    level: float = 0.01
    looks: int = 1

    @property
    def per_look(self) -> float:
        """The level of one look."""
        return self.level / self.looks


class Metric(NamedTuple):
    """One segment at one quantile: shift, adjusted p, verdict, what would have been seen.

    `p_adjusted` counts the other metrics and all looks: it is held against the whole level.
    `base_ns`, `head_ns`: the quantile of all readings of a side; None where only ratios are known.
    """

    segment: str
    quantile: str
    shift: Shift
    p_adjusted: float
    verdict: Verdict
    blocks: int
    would_have_seen_percent: float | None
    noise_percent: float
    blocks_wanted: int | None
    base_ns: int | None = None
    head_ns: int | None = None


def decide(base: Samples, head: Samples, rule: Rule) -> tuple[Metric, ...]:
    """Every gated metric that both sides have, p values adjusted for their number (Holm)."""
    found = [
        (segment, q, ratios)
        for segment, q in GATED
        if segment in base and segment in head and _carried(base[segment], head[segment], q)
        if len(ratios := log_ratios(base[segment], head[segment], q)) >= FEWEST_BLOCKS
    ]
    return tuple(
        metric._replace(
            base_ns=stats.rank_quantile(base[segment].values, q),
            head_ns=stats.rank_quantile(head[segment].values, q),
        )
        for metric, (segment, q, _) in zip(judged(found, rule), found, strict=True)
    )


def fewest_blocks(rule: Rule, figures: int) -> int:
    """The fewest blocks in which one look can show anything in so many figures.

    The smallest two-sided p of n signed ranks is 2^(1 - n), and Holm multiplies it by their number.
    """
    return max(FEWEST_BLOCKS, math.floor(2 + math.log2(max(1, figures) / rule.per_look)))


def judged(
    found: Sequence[tuple[str, float, NDArray[np.float64]]], rule: Rule
) -> tuple[Metric, ...]:
    """The metrics of log ratios, one a block; what `decide` does once it has them."""
    shifts = [stats.hodges_lehmann(ratios) for _, _, ratios in found]
    adjusted = stats.holm([shift.p for shift in shifts])
    return tuple(
        _metric(row, shift, p, rule, len(found))
        for row, shift, p in zip(found, shifts, adjusted, strict=True)
    )


def verdict(metrics: Sequence[Metric]) -> Verdict:
    """The whole: slower if anything is, else unknown if anything is, else faster, else same."""
    said = {metric.verdict for metric in metrics}
    return next((each for each in ORDER if each in said), "cannot tell")


def log_ratios(base: Sample, head: Sample, q: float) -> NDArray[np.float64]:
    """log(head/base) of the q-quantile of each block that both sides have."""
    found = _log_ratios(base, head, q)
    return np.array([found[block] for block in sorted(found)])


def within(samples: Samples, blocks: Collection[int]) -> dict[str, Sample]:
    """The readings of these blocks alone; a segment without any is left out."""
    chosen = np.array(sorted(blocks), np.int64)
    found = {}
    for name, sample in samples.items():
        there = np.isin(sample.round, chosen)
        if there.any():
            found[name] = Sample(sample.values[there], sample.round[there])
    return found


def table(base: Samples, head: Samples, metrics: Sequence[Metric]) -> list[NDArray[np.float64]]:
    """The log ratios of each metric, for the blocks that all of them have."""
    of_name = {name: q for q, name in NAMES.items()}
    found = []
    for metric in metrics:
        sides = (base[metric.segment], head[metric.segment])
        found.append(_log_ratios(*sides, of_name[metric.quantile]))
    both = sorted(set.intersection(*(set(each) for each in found))) if found else []
    return [np.array([each[b] for b in both]) for each in found]


def _log_ratios(base: Sample, head: Sample, q: float) -> dict[int, float]:
    """Block by block; a quantile of 0 ns has no ratio."""
    ours, theirs = _quantiles(base, q), _quantiles(head, q)
    both = ours.keys() & theirs.keys()
    return {b: math.log(theirs[b]) - math.log(ours[b]) for b in both if theirs[b] > 0 < ours[b]}


def document(metrics: Sequence[Metric], rule: Rule) -> dict[str, Any]:
    """The decision as `ab --json` has it, but for what ran."""
    calls = next((m.noise_percent for m in metrics if m[:2] == ("call", "p50")), None)
    return {
        "verdict": verdict(metrics),
        "blocks": max((metric.blocks for metric in metrics), default=0),
        "noise_percent": calls,
        "min_effect_percent": 100 * rule.min_effect,
        "level": rule.level,
        "looks": rule.looks,
        "fewest_blocks": fewest_blocks(rule, len(metrics)),
        "metrics": [_plain(metric) for metric in metrics],
    }


def _metric(
    row: tuple[str, float, NDArray[np.float64]], shift: Shift, p: float, rule: Rule, count: int
) -> Metric:
    segment, q, ratios = row
    said = stats.verdict(shift, p, min_effect=rule.min_effect, level=rule.per_look)
    alone = rule.per_look / count  # what the first of so many needs to pass (Holm)
    seen = power.detectable(ratios, level=alone)  # less than what matters is forgiven
    wanted = power.blocks_wanted(ratios, rule.min_effect, level=alone)
    return Metric(
        segment,
        NAMES[q],
        shift,
        min(1.0, rule.looks * p),
        said,
        len(ratios),
        seen if seen is None else max(seen, 100 * rule.min_effect),
        100 * power.noise(ratios),
        max(wanted, len(ratios) + 1) if said == "cannot tell" else None,
    )


def _plain(metric: Metric) -> dict[str, Any]:
    shift = metric.shift
    return {
        "segment": metric.segment,
        "quantile": metric.quantile,
        "ratio": round(shift.ratio, 5),
        "low": None if shift.low is None else round(shift.low, 5),
        "high": None if shift.high is None else round(shift.high, 5),
        "p_adjusted": metric.p_adjusted,
        "verdict": metric.verdict,
        "blocks": metric.blocks,
        "would_have_seen_percent": metric.would_have_seen_percent,
        "noise_percent": metric.noise_percent,
        "blocks_wanted": metric.blocks_wanted,
        "base_ns": metric.base_ns,
        "head_ns": metric.head_ns,
    }


def _carried(base: Sample, head: Sample, q: float) -> bool:
    """Whether the blocks of both sides carry a quantile of the tail."""
    if q < TAIL_FROM:
        return True
    fewest = min(min(np.unique(side.round, return_counts=True)[1]) for side in (base, head))
    return bool(fewest >= stats.wants(q))


def _quantiles(sample: Sample, q: float) -> dict[int, int]:
    order = np.argsort(sample.round, kind="stable")
    rounds, starts = np.unique(sample.round[order], return_index=True)
    groups = np.split(sample.values[order], starts[1:])
    return {int(r): stats.rank_quantile(each, q) for r, each in zip(rounds, groups, strict=True)}

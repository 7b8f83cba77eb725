"""What a machine was found to tell apart, kept by its class of hosts and quoted from then on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from bench import fingerprint, gate, power
from bench.gate import Metric, Rule

FOLDER = "aa"
COMPARISONS = 2_000


def quoted(host: Mapping[str, Any], results: Path) -> dict[str, Any] | None:
    """The certificate of such a host, as far as `ab` quotes it; None where none is at hand."""
    try:
        text = place(host, results).read_text("utf-8")
    except OSError:
        return None
    found = json.loads(text)
    keys = ("blocks", "suite_percent", "call_noise_percent", "host_class")
    return {key: found[key] for key in keys}


def place(host: Mapping[str, Any], results: Path) -> Path:
    """Where the certificate of a class of hosts is kept."""
    name = "".join(c if c.isalnum() else "-" for c in fingerprint.host_class(host))
    return results / FOLDER / f"{name}.json"


def certify(
    found: Sequence[Metric], ratios: Sequence[np.ndarray[Any, Any]], rule: Rule, *, each: int
) -> dict[str, Any]:
    """False alarms, noise, and what `each` blocks find in nine of ten runs, from blocks of one
    server against itself.

    A comparison draws `each` of the blocks, with replacement, and tosses a coin for which side is
    base: under the null that is all that a label means. Metrics of one block stay together.
    """
    random = np.random.default_rng(1)
    table = np.stack(ratios)
    alarms = np.zeros(len(found), np.int64)
    suites = 0
    for _ in range(COMPARISONS):
        drawn = random.integers(0, table.shape[1], each)
        signs = random.choice((-1.0, 1.0), each)
        rows = [
            (metric.segment, _quantile(metric), table[at, drawn] * signs)
            for at, metric in enumerate(found)
        ]
        wrong = [metric.verdict in ("slower", "faster") for metric in gate.judged(rows, rule)]
        alarms += wrong
        suites += any(wrong)
    return {
        "comparisons": COMPARISONS,
        "per_comparison": each,
        "blocks": int(table.shape[1]),
        **_rate("suite", suites),
        "call_noise_percent": next(
            (m.noise_percent for m in found if (m.segment, m.quantile) == ("call", "p50")), None
        ),
        "metrics": [
            _metric(metric, table[at], int(alarms[at]), rule, len(found), each)
            for at, metric in enumerate(found)
        ],
    }


def _metric(
    metric: Metric, ratios: np.ndarray[Any, Any], alarms: int, rule: Rule, count: int, each: int
) -> dict[str, Any]:
    return {
        "segment": metric.segment,
        "quantile": metric.quantile,
        "noise_percent": metric.noise_percent,
        "detectable_percent": power.detectable_in(
            each, power.noise(ratios), level=rule.per_look / count
        ),
        **{key.removeprefix("_"): value for key, value in _rate("", alarms).items()},
    }


def _rate(name: str, count: int) -> dict[str, float]:
    """A rate in percent with its 95 % interval (Clopper and Pearson)."""
    low, high = binomtest(count, COMPARISONS).proportion_ci()
    prefix = f"{name}_" if name else "false_alarm_"
    share = 100 * count / COMPARISONS
    keys = (f"{prefix}percent", f"{name}_low_percent", f"{name}_high_percent")
    return dict(zip(keys, (share, 100 * float(low), 100 * float(high)), strict=True))


def _quantile(metric: Metric) -> float:
    return next(q for q, name in gate.NAMES.items() if name == metric.quantile)

"""Whether a verdict can be trusted: false alarms and missed shifts of `ab`, over real servers.

Blocks of real process pairs are measured; comparisons of 20 blocks are then dealt out of them,
each block once in a deal, in several deals. The server spins for 1 ms, and every fifth call for
0.5 ms more; shifts are more of the spin. Beside it the rule of other tools, on the same calls: two
runs one after the other, 5 launches each, and an alarm where p99 differs by more than 10 %.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench import ab, gate, seen, stats, store
from bench.ab import Question
from bench.comparison import Sample
from bench.gate import Rule
from bench.prepare import Wish
from bench.report.progress import Silent
from bench.sides import CALLS
from bench.stats import Verdict
from tests.outside import module
from tests.perf import rows
from tests.perf.rows import Row

PER, COMPARISONS = 20, 200
SAME_BLOCKS, SHIFTED_BLOCKS = 800, 400
CALL_US, TAIL_US = 1_000, 500
SHIFT, TAIL_SHIFT = 0.02, 0.05
PER_METRIC, PER_SUITE, MISSED, TAIL_MISSED = 0.01, 0.05, 0.10, 0.05
NAIVE_LAUNCHES, NAIVE_LIMIT = 5, 0.10
Alarms = Mapping[str, float]
WRONG: tuple[Verdict, ...] = ("slower", "faster")


def measure() -> Iterator[Row]:
    """The same server against itself, then with two shifts."""
    quick = "--quick" in sys.argv
    share = 10 if quick else 1
    base = (CALL_US, TAIL_US)
    same = _blocks(base, base, SAME_BLOCKS // share)
    each, suite = _alarms(same, WRONG)
    title = f"same server, {COMPARISONS} comparisons of {PER} blocks"
    for metric, rate in each.items():
        yield Row(f"{title}: {metric}, false alarms", rate, PER_METRIC, _noise(same, metric))
    yield Row(f"{title}: any figure, false alarms", suite, PER_SUITE)
    naive = _naive(same[0]["call"])
    yield Row("the naive rule, same server: false alarms", naive, 1.0, "p99, 10 %, one after other")
    more_us = SHIFT * (CALL_US + _beside_us(same))
    shifted = _blocks(base, (CALL_US + more_us, TAIL_US), SHIFTED_BLOCKS // share)
    found = _alarms(shifted, ("slower",))[0]["call p50"]
    yield Row("p50 of calls 2 % slower: missed", 1 - found, MISSED, f"{more_us:.1f} µs of spin")
    more_us = TAIL_SHIFT * (CALL_US + TAIL_US + _beside_us(same))
    tailed = _blocks(base, (CALL_US, TAIL_US + more_us), SHIFTED_BLOCKS // share)
    found = _alarms(tailed, ("slower",))[0]["call p90"]
    yield Row(
        "p90 of calls 5 % slower: missed", 1 - found, TAIL_MISSED, f"{more_us:.1f} µs of spin"
    )


def _blocks(
    base: Sequence[float], head: Sequence[float], count: int
) -> tuple[Mapping[str, Sample], Mapping[str, Sample]]:
    """So many blocks of two servers: the samples of both."""
    commands = [
        " ".join(module("slower", str(call_us), "0", str(tail_us)))
        for call_us, tail_us in (base, head)
    ]
    wish = Wish(tool="echo", calls=CALLS, warmup=5, seed=1)
    base_line, head_line = commands
    question = Question(base_line, head_line, wish, blocks=count, max_blocks=count)
    with tempfile.TemporaryDirectory() as folder:
        done = ab.paired(question, Path(folder), Silent())
        run = store.read(done.path)
        base_side, head_side = (
            dict(seen.samples(seen.cell_of(run, asked))) for asked in run.meta["cells"]
        )
    return base_side, head_side


def _alarms(
    sides: tuple[Mapping[str, Sample], Mapping[str, Sample]], wanted: Sequence[Verdict]
) -> tuple[Alarms, float]:
    """In which share of the comparisons each metric, and any, has one of these verdicts."""
    rule = Rule()
    metrics = gate.decide(*sides, rule)
    table = np.stack(gate.table(*sides, metrics))
    names = [f"{metric.segment} {metric.quantile}" for metric in metrics]
    quantiles = {name: q for q, name in gate.NAMES.items()}
    counts = dict.fromkeys(names, 0)
    suites = 0
    for dealt in _deals(table.shape[1]):
        rows_of = [
            (metric.segment, quantiles[metric.quantile], table[at, dealt])
            for at, metric in enumerate(metrics)
        ]
        said = [metric.verdict in wanted for metric in gate.judged(rows_of, rule)]
        suites += any(said)
        for name, hit in zip(names, said, strict=True):
            counts[name] += hit
    return {name: count / COMPARISONS for name, count in counts.items()}, suites / COMPARISONS


def _deals(blocks: int) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Comparisons of so many blocks each, no block twice in one deal."""
    random = np.random.default_rng(5)
    made = 0
    while made < COMPARISONS:
        order = random.permutation(blocks)
        for start in range(0, blocks - PER + 1, PER):
            if made == COMPARISONS:
                return
            yield order[start : start + PER]
            made += 1


def _naive(calls: Sample) -> float:
    """How often two runs one after the other differ by more than 10 % in p99."""
    launches = [calls.values[calls.round == number] for number in np.unique(calls.round)]
    size = NAIVE_LAUNCHES
    runs = [
        stats.rank_quantile(np.concatenate(launches[at : at + size]), 0.99)
        for at in range(0, len(launches) - size + 1, size)
    ]
    pairs = list(pairwise(runs))
    return sum(abs(later / earlier - 1) > NAIVE_LIMIT for earlier, later in pairs) / len(pairs)


def _beside_us(sides: tuple[Mapping[str, Sample], Mapping[str, Sample]]) -> float:
    """What a call takes beside the spin, µs."""
    return stats.rank_quantile(sides[0]["call"].values, 0.5) / 1e3 - CALL_US


def _noise(sides: tuple[Mapping[str, Sample], Mapping[str, Sample]], name: str) -> str:
    for metric in gate.decide(*sides, Rule()):
        if f"{metric.segment} {metric.quantile}" == name:
            return f"noise of a block {metric.noise_percent:.2f} %"
    return ""


if __name__ == "__main__":
    sys.exit(rows.main(__doc__.splitlines()[0], measure))

"""The pytest fixture `mcp_latency`: measure a server, or compare two, inside an assertion."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bench.errors import COULD_NOT, FINE, INVALID, SLOWER, BenchError, nearest

Target: TypeAlias = str | Sequence[str]
TOLD = (FINE, SLOWER, COULD_NOT, INVALID)
QUANTILES = ("p50", "p90", "p99")


class Gated:
    """One gated metric of a comparison: `ratio`, `low`, `high`, `verdict`, as `ab --json` has it.

    It reads as a sentence where an assertion about it fails.
    """

    def __init__(self, metric: Mapping[str, Any]) -> None:
        self._metric = metric

    def __getattr__(self, name: str) -> Any:
        return _known(self._metric, name)

    def __repr__(self) -> str:
        from bench.report.figures import percent

        metric = self._metric
        words = f"{metric['segment']} {metric['quantile']}: {metric['verdict']}"
        if metric["ratio"] is not None:
            words += f", {percent(metric['ratio'])}"
        if metric["low"] is not None and metric["high"] is not None:
            words += f" ({percent(metric['low'])} to {percent(metric['high'])})"
        visible = metric.get("would_have_seen_percent")
        if visible is not None:
            words += f"; {visible:.1f} % would have been seen"
        return f"<{words}>"


class Compared:
    """A comparison: `.call.p50` is a gated metric, `.verdict` that of all of them together."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.verdict: str = document["verdict"]

    def __getattr__(self, segment: str) -> Any:
        mine = [each for each in self.document["metrics"] if each["segment"] == segment]
        if not mine:
            _known({each["segment"]: None for each in self.document["metrics"]}, segment)
        return Metrics(segment, {each["quantile"]: Gated(each) for each in mine})

    def __repr__(self) -> str:
        return f"<{self.verdict} after {self.document['blocks']} blocks>"


class Metrics:
    """The gated quantiles of one segment."""

    def __init__(self, segment: str, quantiles: Mapping[str, Gated]) -> None:
        self._segment, self._quantiles = segment, quantiles

    def __getattr__(self, quantile: str) -> Gated:
        found: Gated = _known(self._quantiles, quantile)
        return found

    def __repr__(self) -> str:
        return f"<{self._segment}: {', '.join(map(repr, self._quantiles.values()))}>"


class Figures:
    """The figures of one segment of a cell: `.p50_ns`, `.p90_ns`, `.n`, as `run --json` has them.

    A quantile that the sample does not carry raises AssertionError with what it takes.
    """

    def __init__(self, name: str, figures: Mapping[str, Any]) -> None:
        self._name, self._figures = name, figures

    def __getattr__(self, name: str) -> Any:
        value = _known(self._figures, name)
        if value is None and name.endswith("_ns"):
            have, wants = self._figures["n"], self._figures["wants"]
            raise AssertionError(
                f"{self._name} has no {name}: {have} readings do not carry it, p99 takes {wants}"
            )
        return value

    def __repr__(self) -> str:
        from bench.units import milliseconds

        told = [f"{q} {milliseconds(self._figures[f'{q}_ns'])}" for q in QUANTILES]
        return f"<{self._name}: {', '.join(told)}, {self._figures['n']} readings>"


class Run:
    """A run: `.call` has the figures of a segment, `.cells` those of each cell by its name.

    Where a server speaks both eras there are two cells; `.call` is of the first one, as in `ab`.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.path = Path(document["path"])

    @property
    def cells(self) -> dict[str, dict[str, Figures]]:
        """Figures by the cell's name and the segment's."""
        return {cell["cell"]: _figures(cell) for cell in self.document["cells"]}

    def __getattr__(self, segment: str) -> Figures:
        found: Figures = _known(_figures(self.document["cells"][0]), segment)
        return found

    def __repr__(self) -> str:
        return f"<{', '.join(cell['cell'] for cell in self.document['cells'])}>"


class Latency:
    """What the fixture gives: `ab` and `run`, whose options are those of the commands.

    `blocks=12` is `--blocks 12`, `era="stateful"` is `--era stateful`; a dict is JSON, True a flag.
    """

    def __init__(self, out: Path) -> None:
        self._out = out

    def ab(self, base: Target, head: Target, **options: Any) -> Compared:
        """Two servers live, interleaved; BenchError where there is no verdict."""
        targets = ("--base", _as_text(base), "--head", _as_text(head))
        return Compared(self._said("ab", *targets, *_words(options)))

    def run(self, target: Target, **options: Any) -> Run:
        """One server, or a scenario by name; BenchError where a call failed or none was made."""
        before, after = _as_words(target)
        document = self._said("run", *before, *_words(options), *after)
        for cell in document["cells"]:
            if not cell["calls"] or cell["failed_calls"] or cell["failed_launches"]:
                raise BenchError(f"{cell['cell']}: {'; '.join(cell['warnings']) or 'no calls'}")
        return Run(document)

    def _said(self, verb: str, *words: str) -> Mapping[str, Any]:
        """The document that a verb prints, in a process of its own: it pins, and takes signals."""
        at = words.index("--") if "--" in words else len(words)
        own = ("--json", "--out", str(self._out))
        done = subprocess.run(
            [sys.executable, "-P", "-m", "bench", verb, *words[:at], *own, *words[at:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in TOLD or not done.stdout:
            raise BenchError(done.stderr.strip() or f"{verb} ended with {done.returncode}")
        found: Mapping[str, Any] = json.loads(done.stdout)
        if found.get("failed"):
            raise BenchError(found["failed"])
        return found


@pytest.fixture(scope="session")
def mcp_latency(tmp_path_factory: pytest.TempPathFactory) -> Latency:
    """Measure an MCP server, or compare two, inside a test; results stay in pytest's folder."""
    return Latency(tmp_path_factory.mktemp("mcp-latency"))


def _known(names: Mapping[str, Any], name: str) -> Any:
    if name not in names:
        raise AttributeError(f'no "{name}" here{nearest(name, names)}')
    return names[name]


def _figures(cell: Mapping[str, Any]) -> dict[str, Figures]:
    return {
        name: Figures(f"{cell['cell']} {name}", figures)
        for name, figures in cell["segments"].items()
    }


def _as_text(target: Target) -> str:
    return target if isinstance(target, str) else shlex.join(target)


def _as_words(target: Target) -> tuple[list[str], list[str]]:
    """A target as `run` takes it: what stands before the options, and what after them."""
    if not isinstance(target, str):
        return [], ["--", *target]
    if "://" in target:
        return ["--url", target], []
    words = shlex.split(target)
    return ([target], []) if len(words) == 1 else ([], ["--", *words])


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if value is False or value is None:
            continue
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield json.dumps(value) if isinstance(value, dict) else _joined(value)


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

"""Each known pattern is named with its evidence where it is, and not where it is not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from bench import patterns
from bench.comparison import Sample
from bench.patterns import Figures

MS = 1_000_000
LAUNCHES = 6


def _sample(*values_ms: float, each: int = 20) -> Sample:
    """`each` readings of every value in every launch, spread by a few percent."""
    random = np.random.default_rng(7)
    one = np.repeat(np.array(values_ms) * MS, each)
    values = np.concatenate([one * random.normal(1, 0.02, len(one)) for _ in range(LAUNCHES)])
    return Sample(values.astype(np.int64), np.repeat(np.arange(LAUNCHES), len(one)))


def _figures(
    samples: Mapping[str, Sample] | None = None,
    *,
    calls: int = 120,
    connections: int = 1,
    per_call: bool = False,
    methods: Mapping[str, int] | None = None,
) -> Figures:
    wire = {"connections_opened": connections}
    asked = methods or {"tools/call": calls}
    known = samples or {}
    steps = {"echo": known["call"]} if "call" in known else {}
    return Figures(known, steps, wire, asked, calls, LAUNCHES, per_call)


CONNECTED = {"connect": _sample(0.2), "setup": _sample(3.0)}

SEEN = {
    "delayed ACK": _figures({"call": _sample(44.0), **CONNECTED}),
    "a handshake per call": _figures(methods={"initialize": 120, "tools/call": 120}),
    "connections are not reused": _figures(CONNECTED, connections=20),
    "hidden tools/list": _figures(methods={"tools/list": 6, "tools/call": 120}),
    "the first call takes": _figures({"call": _sample(2.0), "first_call": _sample(2500.0, each=1)}),
    "imports are": _figures({"imports": _sample(600.0, each=1), "setup": _sample(700.0, each=1)}),
    "2 modes": _figures({"call": _sample(0.1, 44.0)}),
}


@pytest.mark.parametrize("name", list(SEEN))
def test_a_pattern_is_named_where_it_is(name: str) -> None:
    assert any(sentence.startswith(name) for sentence in patterns.find(SEEN[name]))


def test_a_healthy_cell_shows_none() -> None:
    healthy = _figures(
        {
            "call": _sample(0.5),
            "first_call": _sample(1.5, each=1),
            "imports": _sample(1.0, each=1),
            "work": _sample(0.1),
            **CONNECTED,
        }
    )
    assert patterns.find(healthy) == []


def test_forty_milliseconds_of_work_are_not_taken_for_a_delayed_ack() -> None:
    busy = _figures({"call": _sample(44.0), "work": _sample(43.0), **CONNECTED})
    assert not any("delayed ACK" in sentence for sentence in patterns.find(busy))


def test_forty_milliseconds_over_a_pipe_are_not_taken_for_a_delayed_ack() -> None:
    assert not any(
        "ACK" in sentence for sentence in patterns.find(_figures({"call": _sample(44.0)}))
    )


def test_connections_closed_on_purpose_are_no_finding() -> None:
    assert patterns.find(_figures(CONNECTED, connections=20, per_call=True)) == []


def test_modes_that_split_launches_speak_of_placement() -> None:
    values = np.repeat(np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0]) * MS, 40)
    values = (values * np.random.default_rng(1).normal(1, 0.02, len(values))).astype(np.int64)
    sample = Sample(values, np.repeat(np.arange(LAUNCHES), 40))
    (sentence,) = patterns.find(_figures({"call": sample}))
    assert "--pin auto" in sentence


def test_what_differs_by_step_is_no_pattern_and_each_step_has_its_own() -> None:
    both = {"call": _sample(0.1, 44.0), **CONNECTED, "first_call": _sample(44.0, each=1)}
    steps = {"fast": _sample(0.1), "slow": _sample(12.0)}
    assert not patterns.find(_figures(both)._replace(by_step=steps))
    steps["slow"] = _sample(12.0, 90.0)
    (said,) = patterns.find(_figures(both)._replace(by_step=steps))
    assert said.startswith("slow: 2 modes, 12.0 ms and 89")

"""The truth of the instrument, in facts: where a programmed delay shows up, and where it cannot.

How exact the figures are is measured by `tests/perf/truth.py`; no duration has an upper bound here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench import segments
from bench.errors import FINE
from tests import dialled
from tests.dialled import Dials, Seen, Where
from tests.outside import Program, conversing, module, toml

MS = 1_000_000
STDIO: Where = ("stdio", "stateful")
PATH = ("sent", "read", "entered", "left", "writing", "received")


def _driven(name: str, turns: list[Dials], standing: Dials, where: Where = STDIO) -> Seen:
    return conversing(lambda: dialled.drive(dialled.server(name, standing), where, turns))


def test_a_delay_while_importing_lies_in_imports_whole_and_in_nothing_else() -> None:
    seen = _driven("lowlevel", [], {"import": 200 * MS})
    marks, (began, ended) = seen.marks, seen.spins["import"][0]
    assert marks["process_up"] <= began
    assert ended <= marks["imports_done"] <= marks["first_read"]
    assert _setup(seen)["imports"] >= ended - began >= 200 * MS


def test_imports_rise_by_the_delay_and_initialize_does_not() -> None:
    delays_ns = (0, 400 * MS)
    pairs = [[_setup(_driven("ts1", [], {"import": ns})) for ns in delays_ns] for _ in range(3)]
    rises = {
        segment: sorted(on[segment] - off[segment] for off, on in pairs)[1]
        for segment in ("imports", "initialize")
    }
    assert rises["imports"] >= 200 * MS
    assert rises["initialize"] < rises["imports"] / 2


def test_a_delay_before_serving_lies_between_imports_done_and_the_first_read() -> None:
    seen = _driven("mcpserver", [], {"serving": 100 * MS})
    began, ended = seen.spins["serving"][0]
    assert seen.marks["imports_done"] <= began
    assert ended <= seen.marks["first_read"]
    assert _setup(seen)["serving"] >= 100 * MS


@pytest.mark.parametrize("where", [STDIO, ("http", "stateless")], ids=" ".join)
def test_every_call_works_as_long_as_its_handler_takes(where: Where) -> None:
    seen = _driven("mcpserver", [{"handler": 2 * MS}] * 25, {}, where)
    durations = segments.calls(seen.stamps)
    assert (durations["work"] >= 2 * MS).all()
    _lies_within(seen, "handler", "entered", "left")


@pytest.mark.parametrize("name", ["mcpserver", "ts1"])
def test_what_a_server_does_around_its_handler_is_boundary_and_not_work(name: str) -> None:
    around = ("before", "after", "write")
    turns = [{point: ns, "handler": MS} for point in around for ns in (7 * MS, 12 * MS)]
    seen = _driven(name, [*turns] * 5, {})
    durations = segments.calls(seen.stamps)
    assert (durations["boundary"][0::2] >= 7 * MS).all()
    assert (durations["boundary"][1::2] >= 12 * MS).all()
    assert (durations["work"] >= MS).all()
    _lies_within(seen, "before", "read", "entered")
    for point in ("after", "write"):
        _lies_within(seen, point, "left", "writing")


def test_without_an_sdk_the_call_shows_every_delay_and_the_floor_none() -> None:
    points = ("before", "handler", "after", "write")
    seen = _driven("none", [{point: 30 * MS} for point in points], {})
    durations = segments.calls(seen.stamps)
    assert (durations["call"] >= 30 * MS).all()
    assert (durations["ttfb"] >= 30 * MS).all()
    assert (seen.floor < durations["call"]).all()


@pytest.mark.parametrize(
    ("name", "where", "calls"),
    [
        ("ts1", STDIO, 17_000),
        ("lowlevel", STDIO, 2_000),
        ("mcpserver", ("http", "stateless"), 500),
        ("ts2", ("http", "stateful"), 500),
    ],
)
def test_no_stamp_of_a_server_contradicts_the_clients(name: str, where: Where, calls: int) -> None:
    seen = conversing(lambda: dialled.call(dialled.server(name), where, calls))
    path = np.stack([seen.stamps[point] for point in PATH])
    assert path.shape == (len(PATH), calls)
    assert (path > 0).all()
    assert (np.diff(path, axis=0) >= 0).all()
    assert seen.disordered == 0


def test_a_start_that_imports_is_told_from_a_round_trip(program: Program) -> None:
    cell = _run(program, module("dials_python", "lowlevel"), {"import": 600 * MS}, launches=1)
    found, ledger = cell["segments"], cell["ledger"]["setup"]
    assert found["imports"]["min_ns"] >= 600 * MS
    assert sorted(ledger, key=lambda segment: ledger[segment])[-2:] == ["imports", "setup"]
    assert found["initialize"]["min_ns"] < found["imports"]["min_ns"]
    assert found["floor"]["min_ns"] < 600 * MS


def test_unseen_a_start_is_one_figure_and_never_called_a_handshake(program: Program) -> None:
    found = _run(program, module("dials"), {"import": 600 * MS}, launches=1)["segments"]
    assert found["first_reply"]["min_ns"] >= 600 * MS
    assert not {"interpreter", "imports", "initialize"} & found.keys()
    assert found["floor"]["min_ns"] < 600 * MS


def test_a_slow_first_call_is_a_figure_of_its_own(program: Program) -> None:
    dials = {"first": 300 * MS, "handler": 2 * MS}
    found = _run(program, module("dials"), dials, launches=2)["segments"]
    assert found["first_call"]["min_ns"] >= 302 * MS
    assert found["first_result"]["min_ns"] >= 302 * MS
    assert (found["first_call"]["n"], found["call"]["n"]) == (2, 2 * 5)
    assert found["call"]["min_ns"] >= 2 * MS
    assert found["call"]["p50_ns"] < found["first_call"]["min_ns"]


def _run(
    program: Program, command: tuple[str, ...], dials: Dials, *, launches: int
) -> Mapping[str, Any]:
    """The only cell of a run over stdio, five calls a launch."""
    program.recipe("dials", stdio=toml(command), env=f"{{DIALS = '{json.dumps(dials)}'}}")
    call = '[[call]]\ntool = "turn"\narguments = {call = 0, dials = {}}\n'
    program.scenario("small", f'servers = ["dials"]\n{call}')
    few = ("--era", "stateful", "-r", str(launches), "-n", "5", "-w", "0", "--seed", "1")
    said = program("run", "small", "--json", *few)
    assert said.verdict == FINE, said.err
    return said.cell


def _setup(seen: Seen) -> Mapping[str, int]:
    """The segments of one start, ns."""
    marks = {point: np.array([at], np.int64) for point, at in seen.marks.items()}
    return {name: int(values[0]) for name, values in segments.setups(marks).items()}


def _lies_within(seen: Seen, point: str, start: str, end: str) -> None:
    """Every delay of the server's own log lies between two stamps of the probe."""
    began, ended = seen.spins[point].T
    assert (seen.stamps[start] <= began).all()
    assert (ended <= seen.stamps[end]).all()

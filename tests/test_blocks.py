"""Blocks of two servers in memory, in exact numbers: ratios, looks, and who lost a block."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench import ab, gate, store, whole
from bench.ab import Question
from bench.comparison import Sample
from bench.drive import Job
from bench.errors import INTERRUPTED, INVALID
from bench.gate import Rule
from bench.model import Cell, Limits, Placement, Scenario, Server, Step
from bench.prepare import Prepared, Wish
from bench.report.progress import Silent
from bench.store import Run
from bench.wire import memory
from tests.story import TICK_NS, CountingClock, Responder

MS = 1_000_000
SIDES = ("base", "head")


class Mute(Responder):
    """Does not answer from some call on."""

    def __init__(self, clock: CountingClock, costs_ns: dict[str, int], answered: int) -> None:
        super().__init__(clock, costs_ns)
        self._answered = answered

    def __call__(self, body: bytes) -> Iterable[bytes]:
        if b"tools/call" in body and self.calls >= self._answered:
            return []
        return super().__call__(body)


def prepared(clock: CountingClock, responders: Mapping[str, Responder], calls: int) -> Prepared:
    """Two servers in memory, ready for blocks."""
    memory.SERVERS.update(responders)
    scenario = Scenario(name="story", call=(Step(tool="null"),), calls=calls, warmup=1)
    cells = [
        Cell(name=side, scenario="story", server=side, transport="memory", era="stateful")
        for side in SIDES
    ]
    job = Job(
        scenarios={"story": scenario},
        servers={side: Server(name=side) for side in SIDES},
        limits=Limits(call_s=0.02, setup_s=5.0),
        placement=Placement(),
        words={},
        clock=clock,
    )
    return Prepared("story", cells, (), job, 1)


def measured(
    folder: Path, costs_ns: Mapping[str, int], *, blocks: int, most: int, calls: int = 4
) -> ab.Blocks:
    """Blocks of two servers whose calls cost so much."""
    clock = CountingClock()
    responders = {
        side: Responder(clock, {"tools/call": costs_ns[side], "initialize": 3 * MS})
        for side in SIDES
    }
    question = Question("base", "head", Wish(), blocks=blocks, max_blocks=most)
    return ab.measured(prepared(clock, responders, calls), question, folder, Silent())


def said(done: ab.Blocks) -> dict[str, str]:
    return {f"{each.segment} {each.quantile}": each.verdict for each in done.metrics}


def test_a_ratio_is_that_of_the_programmed_times_and_only_what_moved_is_named(
    tmp_path: Path,
) -> None:
    done = measured(tmp_path, {"base": 10 * MS, "head": 13 * MS}, blocks=12, most=12)
    call = next(each for each in done.metrics if each.segment == "call")
    assert call.base_ns == 10 * MS + 2 * TICK_NS
    assert call.head_ns == 13 * MS + 2 * TICK_NS
    assert call.shift.ratio == pytest.approx((13 * MS + 2 * TICK_NS) / (10 * MS + 2 * TICK_NS))
    assert said(done) == {
        "setup p50": "same",
        "first_result p50": "slower",  # the first call is a call
        "call p50": "slower",
        "call p90": "slower",
    }
    assert (done.status, done.made, done.lost) == ("complete", 12, [])


def test_two_equal_servers_are_the_same_in_everything_and_no_other_look_is_needed(
    tmp_path: Path,
) -> None:
    done = measured(tmp_path, {"base": 10 * MS, "head": 10 * MS}, blocks=6, most=60)
    assert set(said(done).values()) == {"same"}
    assert done.made == 6


def test_a_block_starts_either_side_first_equally_often_and_calls_interleave(
    tmp_path: Path,
) -> None:
    done = measured(tmp_path, {"base": MS, "head": MS}, calls=20, blocks=8, most=8)
    run = store.read(done.path)
    starts = {row["launch"]: row["cell"] for row in run.launch_table.to_pylist()}
    first = [starts[2 * block] for block in range(8)]
    assert first.count("base") == first.count("head") == 4
    rows = sorted(run.call_table.to_pylist(), key=lambda row: row["sent_ns"])
    steady = [row["cell"] for row in rows if row["phase"] == "steady" and row["round"] == 0]
    pairs = [tuple(steady[at : at + 2]) for at in range(0, len(steady), 2)]
    assert {frozenset(pair) for pair in pairs} == {frozenset(SIDES)}
    assert len(set(pairs)) == 2  # either order occurs


def test_the_first_call_of_a_side_comes_before_the_other_side_starts(tmp_path: Path) -> None:
    done = measured(tmp_path, {"base": MS, "head": MS}, blocks=6, most=6)
    rows = {row["launch"]: row for row in store.read(done.path).launch_table.to_pylist()}
    for block in range(6):
        assert rows[2 * block]["at_first_received_ns"] < rows[2 * block + 1]["at_connecting_ns"]


@pytest.mark.parametrize(
    ("blocks", "most", "looks"),
    [(20, 60, (20, 40, 60)), (20, 50, (20, 40, 50)), (20, 20, (20,)), (40, 60, (40, 60))],
)
def test_looks_never_go_beyond_the_most_blocks(
    blocks: int, most: int, looks: tuple[int, ...]
) -> None:
    question = Question("a", "b", Wish(), blocks=blocks, max_blocks=most)
    assert tuple(question.looks) == looks
    assert question.rule.looks == len(looks)


def test_an_adjusted_p_counts_figures_and_looks_and_is_held_against_the_whole_level() -> None:
    rows = [(segment, 0.5, np.arange(1.0, 13.0) / 100) for segment in ("setup", "call")]
    once, thrice = (gate.judged(rows, Rule(looks=looks)) for looks in (1, 3))
    assert [metric.p_adjusted for metric in once] == [2 * 2**-11] * 2
    assert [metric.p_adjusted for metric in thrice] == [6 * 2**-11] * 2
    assert {metric.verdict for metric in (*once, *thrice)} == {"slower"}
    strict = Rule(looks=3, level=6 * 2**-11)
    assert {metric.verdict for metric in gate.judged(rows, strict)} == {"cannot tell"}


def test_a_quick_look_has_blocks_enough_to_show_a_shift_in_every_figure() -> None:
    rule = Question("a", "b", Wish(), blocks=ab.QUICK_BLOCKS, max_blocks=ab.QUICK_BLOCKS).rule
    assert gate.fewest_blocks(rule, len(gate.GATED)) <= ab.QUICK_BLOCKS
    assert gate.fewest_blocks(Question("a", "b", Wish()).rule, len(gate.GATED)) <= ab.BLOCKS


def test_a_side_that_falls_silent_costs_its_block_and_the_other_side_is_not_to_blame(
    tmp_path: Path,
) -> None:
    clock = CountingClock()
    costs = {"tools/call": MS}
    responders = {"base": Responder(clock, costs), "head": Mute(clock, costs, answered=3)}
    question = Question("base", "head", Wish(), blocks=6, max_blocks=6)
    done = ab.measured(prepared(clock, responders, 20), question, tmp_path, Silent())
    rows = store.read(done.path).launch_table.to_pylist()
    outcomes = {cell: {row["outcome"] for row in rows if row["cell"] == cell} for cell in SIDES}
    assert outcomes == {"base": {"interrupted"}, "head": {"transport_error"}}
    assert "error" not in next(row for row in rows if row["cell"] == "base")["details"]
    assert done.metrics == ()
    assert len(done.lost) == 2  # more than a fifth: no other block is worth its time


def test_figures_of_calls_that_failed_or_of_blocks_broken_off_have_no_verdict(
    tmp_path: Path,
) -> None:
    clock = CountingClock()
    failing = Responder(clock, {"tools/call": MS})
    failing.answers["tools/call"] = {"result": {"content": [], "isError": True}}
    responders = {"base": Responder(clock, {"tools/call": 2 * MS}), "head": failing}
    question = Question("base", "head", Wish(), blocks=6, max_blocks=6)
    failed = ab.measured(prepared(clock, responders, 4), question, tmp_path, Silent())
    assert said(failed) == {"setup p50": "same"}  # a failed call is quick, and in no figure
    found = ab.document(question, failed)
    assert (found["verdict"], found["valid"], ab.code(found)) == ("cannot tell", False, INVALID)
    whole_run = measured(tmp_path, {"base": MS, "head": 2 * MS}, blocks=12, most=12)
    asked = question._replace(blocks=12, max_blocks=12)
    assert ab.document(asked, whole_run)["verdict"] == "slower"
    found = ab.document(asked, whole_run._replace(status="interrupted"))
    assert (found["verdict"], ab.code(found)) == ("cannot tell", INTERRUPTED)


def test_a_block_that_lost_a_side_is_left_out_of_every_figure(tmp_path: Path) -> None:
    done = measured(tmp_path, {"base": MS, "head": MS}, blocks=6, most=6)
    run = store.read(done.path)
    assert whole.of(run).blocks == 6
    lost = whole.of(_ended_early(run, cell="head", block=2))
    assert lost.blocks == 5
    for side in (lost.base, lost.head):
        assert all(2 not in sample.round for sample in side.values())


def _ended_early(run: Run, *, cell: str, block: int) -> Run:
    table = run.launch_table
    outcomes = [
        "transport_error" if (row["cell"], row["round"]) == (cell, block) else row["outcome"]
        for row in table.to_pylist()
    ]
    place = table.schema.get_field_index("outcome")
    changed = table.set_column(place, "outcome", pa.array(outcomes))
    return dataclasses.replace(run, launch_table=changed)


def test_a_quantile_of_no_time_has_no_ratio_and_stops_nothing() -> None:
    blocks = np.arange(8)
    base = {"setup": Sample(np.array([0, 5, 5, 5, 5, 5, 5, 5]), blocks)}
    head = {"setup": Sample(np.array([5, 5, 5, 5, 5, 5, 5, 0]), blocks)}
    metrics = gate.decide(base, head, Rule())
    (ratios,) = gate.table(base, head, metrics)
    assert list(ratios) == [0.0] * 6

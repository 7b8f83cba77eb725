"""Pictures of a run: drawn for every kind of run, and returned as Axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

import bench
from bench import plots
from bench.frames import LoadedRun
from tests.story import CountingClock, Responder, run_in_memory

mpl.use("Agg")
DRAW: tuple[Callable[..., Axes], ...] = (plots.setup, plots.breakdown, plots.break_even)
COSTS_NS = {"initialize": 3_000_000, "tools/call": 250_000, "ping": 1_000}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every figure is closed again."""
    yield
    plt.close("all")


def _run(path: Path, **answers: object) -> LoadedRun:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers.update(answers)
    run_in_memory(path, respond, clock)
    return bench.load(path)


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
def test_a_run_is_drawn_on_new_axes_or_on_given_ones(
    draw: Callable[..., Axes], tmp_path: Path
) -> None:
    run = _run(tmp_path)
    assert isinstance(draw(run), Axes)
    _, ax = plt.subplots()
    assert draw(run, ax) is ax
    assert ax.get_xlabel()


@pytest.mark.parametrize("draw", DRAW, ids=lambda draw: draw.__name__)
def test_a_run_without_figures_says_so(draw: Callable[..., Axes], tmp_path: Path) -> None:
    error = {"error": {"code": -32603, "message": "no"}}
    run = _run(tmp_path, **{"initialize": error, "server/discover": error})
    assert "no data" in [text.get_text() for text in draw(run).texts]


def test_an_estimate_is_drawn_by_its_two_parts(tmp_path: Path) -> None:
    ax = plots.breakdown(_run(tmp_path))
    labels = ax.get_legend_handles_labels()[1]
    assert {"boundary", "work"} <= set(labels)


def test_the_module_is_there_after_importing_the_package() -> None:
    assert bench.plots.setup is plots.setup


def test_every_segment_that_can_be_drawn_has_one_colour() -> None:
    from bench.ledger import CALL_PARTS, SETUP_PARTS

    assert {*CALL_PARTS, *SETUP_PARTS, "boundary"} <= set(plots.COLOURS)

"""Pictures of a run: drawn for every kind of run, and returned as Axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import bench
from bench import plots
from bench.frames import LoadedRun
from bench.plots import canvas, course
from bench.report.colours import CELL_COLOURS
from bench.report.spreads import beyond
from bench.spread import main_mass
from tests.story import CountingClock, Responder, run_in_memory, run_servers

mpl.use("Agg")
DRAW: tuple[Callable[..., Axes], ...] = (
    plots.setup,
    plots.breakdown,
    plots.break_even,
    plots.distribution,
    plots.timeline,
    plots.compare,
    plots.drift,
)
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


@pytest.mark.parametrize("draw", [plots.distribution, plots.break_even, plots.drift])
def test_more_cells_than_colours_are_all_drawn_and_none_looks_like_another(
    draw: Callable[..., Axes], tmp_path: Path
) -> None:
    clock = CountingClock()
    cells = len(CELL_COLOURS) + 2
    run_servers(tmp_path, {f"d{n}": Responder(clock, COSTS_NS) for n in range(cells)}, clock)
    lines = draw(bench.load(tmp_path)).get_lines()
    named = [line for line in lines if not str(line.get_label()).startswith("_")]
    assert len({(line.get_color(), line.get_linestyle()) for line in named}) == cells


def test_a_logarithmic_axis_has_plain_numbers(tmp_path: Path) -> None:
    ax = plots.compare(_run(tmp_path))
    ax.set_xlim(0.005, 2)
    ax.figure.canvas.draw()
    said = [text.get_text() for text in ax.get_xticklabels()]
    assert "0.01" in said
    assert not [words for words in said if "e" in words or "$" in words]


def test_each_row_of_a_comparison_has_room_for_its_words() -> None:
    for rows in (6, 40):
        ax = canvas.axes(None, rows=rows)
        ax.figure.canvas.draw()
        assert ax.get_window_extent().height / rows > 20  # pixels, at 100 to an inch


@pytest.mark.parametrize(
    "draw", [draw for draw in DRAW if draw is not plots.timeline], ids=lambda draw: draw.__name__
)
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


def test_a_few_outliers_are_counted_and_do_not_flatten_the_rest() -> None:
    random = np.random.default_rng(1)
    usual = random.normal(303_000, 30_000, 99_993).clip(237_000, 900_000).astype(np.int64)
    rare = np.linspace(10_000_000, 37_599_000, 7).astype(np.int64)
    main = main_mass([np.concatenate([usual, rare])])
    assert main.high_ns <= 900_000
    assert not main.logarithmic
    assert beyond(main.above, main.max_ns) == "7 above, max 37.6 ms"


def test_two_modes_far_apart_both_stay_on_the_axis() -> None:
    values = np.array([1_000_000] * 980 + [45_000_000] * 20, np.int64)
    main = main_mass([values])
    assert (main.low_ns, main.high_ns) == (1_000_000, 45_000_000)
    assert main.logarithmic
    assert canvas.unit(main) == "ms (logarithmic)"
    assert main.above == 0


def test_a_distribution_shows_every_call_as_a_share_on_a_named_scale(tmp_path: Path) -> None:
    ax = plots.distribution(_run(tmp_path))
    assert ax.get_xlabel() == "call, ms"
    assert ax.get_ylabel() == "share of calls"
    for line in ax.get_lines():
        assert line.get_ydata()[-1] == 1.0  # type: ignore[index]


def test_a_quarter_of_a_millisecond_is_a_quarter_on_the_axis(tmp_path: Path) -> None:
    line = plots.distribution(_run(tmp_path)).get_lines()[0]
    assert np.median(np.asarray(line.get_xdata(), np.float64)) == pytest.approx(0.25, abs=0.01)


def test_a_step_of_the_level_is_found_where_it_is_and_chance_is_none() -> None:
    random = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        flat = np.exp(random.normal(0, 0.02, 100))
        found += bool(course.steps(flat))
        stepped = flat * np.where(np.arange(100) < 60, 1.0, 1.2)
        assert course.steps(stepped) == pytest.approx([60], abs=2)
    assert found <= 2


def test_a_timeline_cuts_the_wait_for_the_start_and_says_how_long_it_was(tmp_path: Path) -> None:
    ax = plots.timeline(_run(tmp_path), messages=None)
    words = [text.get_text() for text in ax.texts]
    assert any(word.startswith("≈ 3") and word.endswith("ms") for word in words)
    assert "initialize" in words or "server/discover" in words
    assert [label.get_text() for label in ax.get_yticklabels()] == ["server", "client"]


def test_a_timeline_says_how_many_messages_it_leaves_out(tmp_path: Path) -> None:
    run = _run(tmp_path)
    launch = run.messages[run.messages["launch"] == 0]
    ax = plots.timeline(run, messages=4)
    assert f"{len(launch) - 4} later messages not drawn" in ax.get_xlabel()


def test_a_comparison_names_both_sides_and_the_segment(tmp_path: Path) -> None:
    ax = plots.compare(_run(tmp_path), axis="era")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names
    assert all("stateless to stateful" in name for name in names)
    assert any(name.endswith("call") for name in names)

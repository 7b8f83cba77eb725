"""A history from its first run on: lines added, steps and creep found, gaps said, drawn."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import msgspec
import numpy as np
import pytest

import bench
from bench import history
from bench.cli import main
from bench.errors import COULD_NOT, FINE, SLOWER, USAGE, BenchError, UsageError
from bench.history import file
from bench.history.points import Point
from bench.report.history import course
from tests.outside import Program, module
from tests.stored import HOST, MS, changed, stored

mpl.use("Agg")
CELL = "story/desk/memory/stateful"
Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Told:
    """`mcp-latency history` on a file of its own: exit code, output, errors."""

    def tell(action: str, *words: object) -> tuple[int, str, str]:
        code = main(["history", action, *map(str, words), "--file", str(tmp_path / "h.jsonl")])
        return code, *capsys.readouterr()

    return tell


def _point(number: int, value: float | None, **keys: Any) -> Point:
    value_ns = None if value is None else round(value)
    known: dict[str, Any] = {
        "run": f"run-{number:03}",
        "added": f"2026-12-01T00:00:00Z+{number:03}",
        "commit": f"{number:03x}{'c' * 37}",
        "commit_time": None,
        "host_class": "epyc-4c",
        "conditions": {"placement": "0:1", "client": "wire"},
        "versions": {"uvloop": "0.21.0"},
        "cell": CELL,
        "segment": "call",
        "n": 100,
        "launches": 10,
        "p50_ns": value_ns,
        "low_ns": value_ns,
        "high_ns": value_ns,
        "p90_ns": None,
        "p99_ns": None,
        **keys,
    }
    return Point(**known)


def _written(path: Path, points: Iterable[Point]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(point) + b"\n" for point in points))
    return path


def _series(path: Path, values: Sequence[float], **keys: Any) -> Path:
    return _written(path, (_point(at, value, **keys) for at, value in enumerate(values)))


def _noisy(logs: Sequence[float] | np.ndarray) -> list[float]:
    random = np.random.default_rng(6)
    return [float(MS * value) for value in np.exp(logs + random.normal(0, 0.01, len(logs)))]


def _only(path: Path) -> dict[str, Any]:
    (series,) = history.check(path)["series"]
    found: dict[str, Any] = series
    return found


def test_the_first_run_is_stored_and_passes_without_a_baseline(tmp_path: Path, told: Told) -> None:
    run = stored(tmp_path / "first", servers={"desk": MS})
    code, out, _ = told("add", run, "--commit", "abcdef0")
    assert code == FINE
    assert "no baseline yet" in out
    lines = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text("utf-8").splitlines()]
    assert {line["segment"] for line in lines} >= {"setup", "call", "first_result", "floor"}
    (call,) = (line for line in lines if line["segment"] == "call")
    (cell,) = bench.load(run).summary()["cells"]
    assert call["p50_ns"] == cell["segments"]["call"]["p50_ns"]
    assert (call["n"], call["launches"], call["commit"]) == (48, 12, "abcdef0")
    assert call["p99_ns"] is None
    assert call["host_class"].startswith("amd-epyc-7763-64-core-processor-4c-linux6.8-py3.12-")
    assert call["conditions"]["placement"] == "0:1"


def test_too_few_points_cannot_tell_and_say_how_many_more(tmp_path: Path, told: Told) -> None:
    run = stored(tmp_path / "first", servers={"desk": MS})
    told("add", run)
    code, out, _ = told("check")
    assert code == COULD_NOT
    assert "4 series have too few points: 5 more runs are needed for a verdict" in out


def test_the_same_run_twice_is_refused_and_nothing_is_added(tmp_path: Path, told: Told) -> None:
    run = stored(tmp_path / "first", servers={"desk": MS})
    told("add", run)
    before = (tmp_path / "h.jsonl").read_bytes()
    code, _, err = told("add", run)
    assert code == COULD_NOT
    assert f'run "first" is in {tmp_path / "h.jsonl"} already: nothing was added' in err
    assert (tmp_path / "h.jsonl").read_bytes() == before


def test_runs_over_commits_find_the_one_that_made_it_slower(tmp_path: Path, told: Told) -> None:
    for number in range(12):
        cost = MS if number < 7 else round(1.1 * MS)
        run = stored(tmp_path / f"run-{number:02}", servers={"desk": cost}, launches=6)
        assert told("add", run, "--commit", f"{number:07x}")[0] == FINE
    code, out, _ = told("check")
    assert code == SLOWER
    assert out.startswith("SLOWER · run-11 (000000b)")
    assert "call p50: a step of +" in out
    assert "at 0000007, after 0000006" in out
    accepted = told("check", "--since", "0000007")
    assert accepted[0] == COULD_NOT
    assert "1 more runs are needed" in accepted[1]


def test_a_run_that_did_not_end_is_no_history(tmp_path: Path, told: Told) -> None:
    run = changed(stored(tmp_path / "run", servers={"desk": MS}), status="interrupted")
    code, _, err = told("add", run)
    assert code == COULD_NOT
    assert "is interrupted: only a complete run becomes history" in err


def test_a_run_without_figures_is_no_history(tmp_path: Path, told: Told) -> None:
    code, _, err = told("add", stored(tmp_path / "run", servers={"desk": None}))
    assert code == COULD_NOT
    assert "has no figures: nothing was added" in err
    assert not (tmp_path / "h.jsonl").exists()


def test_a_failed_cell_is_kept_as_failed_and_no_pass(tmp_path: Path, told: Told) -> None:
    told("add", stored(tmp_path / "one", servers={"a": MS, "b": MS}))
    code, out, _ = told("add", stored(tmp_path / "two", servers={"a": MS, "b": None}))
    assert code == FINE
    assert "story/b/memory/stateful failed, and is kept as failed" in out
    code, out, _ = told("check")
    assert code == COULD_NOT
    assert '"story/b/memory/stateful" failed in the newest run: ' in out


def test_a_cell_that_is_missing_may_have_been_renamed(tmp_path: Path, told: Told) -> None:
    told("add", stored(tmp_path / "one", servers={"desk": MS, "tickets": MS}))
    told("add", stored(tmp_path / "two", servers={"desk": MS, "tickets2": MS}))
    code, out, _ = told("check")
    assert code == COULD_NOT
    assert (
        '"story/tickets/memory/stateful" is missing since one, the last run that had it; '
        'was it renamed to "story/tickets2/memory/stateful"?'
    ) in out
    assert "is missing" not in told("check", "--cell", CELL)[1]
    assert "is missing" in told("check", "--cell", "story/tickets/memory/stateful")[1]


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_history_is_an_error_with_words(text: str, tmp_path: Path, told: Told) -> None:
    if text:
        (tmp_path / "h.jsonl").write_text(text, "utf-8")
    for action in ("check", "show"):
        code, _, err = told(action)
        assert code == COULD_NOT
        assert "h.jsonl has no points; try: mcp-latency history add RUN" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cell", "story/dusk/memory/stateful"), f'did you mean "{CELL}"?'),
        (("--since", "fff"), '--since "fff": the history has no run of that commit'),
    ],
)
def test_an_unknown_cell_or_commit_is_wrong_usage(
    words: tuple[str, ...], said: str, tmp_path: Path, told: Told
) -> None:
    _series(tmp_path / "h.jsonl", [MS] * 8)
    code, _, err = told("check", *words)
    assert code == USAGE
    assert said in err


def test_the_runner_lottery_alarms_on_the_step_and_not_on_the_outlier(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    lottery = _only(_series(path, [224e3, 190e3, 110e3, 223e3]))
    assert (lottery["verdict"], lottery["wants"], lottery["steps"]) == ("cannot tell", 2, [])
    longer = _only(_series(path, [224e3, 190e3, 215e3, 205e3, 221e3, 199e3, 110e3, 223e3]))
    assert (longer["kind"], longer["steps"]) == (None, [])
    assert longer["would_have_seen_percent"] > 25
    assert longer["verdict"] == "cannot tell"
    step = _only(_series(path, [224e3, 190e3, 215e3, 430e3, 428e3, 433e3]))
    assert (step["verdict"], step["kind"]) == ("slower", "step")
    assert step["ratio"] == pytest.approx(430 / 215)


def test_a_series_without_a_change_is_the_same_and_says_what_would_have_been_seen(
    tmp_path: Path, told: Told
) -> None:
    _series(tmp_path / "h.jsonl", _noisy(np.zeros(60)))
    code, out, _ = told("check", "--json")
    (series,) = json.loads(out)["series"]
    assert (code, series["verdict"], series["kind"]) == (FINE, "same", None)
    assert 1 < series["would_have_seen_percent"] < 4


def test_a_creep_is_named_with_how_far_it_has_come(tmp_path: Path, told: Told) -> None:
    _series(tmp_path / "h.jsonl", _noisy(np.linspace(0, 0.12, 60)))
    code, out, _ = told("check")
    assert code == SLOWER
    assert "call p50: slower, a creep: +" in out
    assert "and no single commit made it" in out
    series = _only(tmp_path / "h.jsonl")
    assert series["steps"] == []
    assert series["ratio"] == pytest.approx(np.exp(0.1), abs=0.02)


def test_a_creep_too_slow_for_the_window_is_found_against_its_anchor(tmp_path: Path) -> None:
    path = _series(tmp_path / "h.jsonl", _noisy(np.linspace(0, 0.12, 400)))
    series = _only(path)
    assert (series["verdict"], series["kind"]) == ("slower", "creep")
    assert series["since"]["run"] == "run-000"
    assert len(series["course"]) == 400


@pytest.mark.parametrize(
    ("logs", "verdict", "steps"),
    [
        ([0.0] * 15 + [0.2] * 15, "slower", 1),
        ([0.2] * 15 + [0.0] * 15, "faster", 1),
        ([0.0] * 15 + [0.2] * 10 + [0.0] * 10, "same", 2),
        ([0.2] * 15 + [0.0] * 10 + [0.2] * 10, "slower", 2),
    ],
)
def test_the_present_is_held_against_the_best_level_before(
    logs: list[float], verdict: str, steps: int, tmp_path: Path
) -> None:
    series = _only(_series(tmp_path / "h.jsonl", _noisy(logs)))
    assert (series["verdict"], len(series["steps"])) == (verdict, steps)


def test_only_points_of_the_same_host_and_conditions_are_a_series(tmp_path: Path) -> None:
    fast = [_point(at, MS, host_class="other") for at in range(10)]
    unpinned = [_point(at, 3 * MS, conditions={"placement": "none"}) for at in range(10, 20)]
    ours = [_point(at, value) for at, value in enumerate(_noisy(np.full(8, 0.3)), 20)]
    series = _only(_written(tmp_path / "h.jsonl", [*fast, *unpinned, *ours]))
    assert (series["points"], series["measured_otherwise"]) == (8, 20)
    assert series["verdict"] == "same"


def test_points_are_in_the_order_of_their_commits(tmp_path: Path) -> None:
    points = [
        _point(at, 2 * MS if at >= 10 else MS, commit_time=f"2026-11-{at + 1:02}T00:00:00Z")
        for at in range(20)
    ]
    mixed = [points[at] for at in np.random.default_rng(1).permutation(20)]
    series = _only(_written(tmp_path / "h.jsonl", mixed))
    assert [step["run"] for step in series["steps"]] == ["run-010"]


def test_failed_points_are_left_out_and_counted(tmp_path: Path) -> None:
    points = [_point(at, MS, error="3 calls failed" if at == 4 else None) for at in range(10)]
    series = _only(_written(tmp_path / "h.jsonl", points))
    assert (series["points"], series["left_out"], series["verdict"]) == (9, 1, "same")


def test_a_step_names_the_versions_that_changed_with_it(tmp_path: Path, told: Told) -> None:
    points = [
        _point(at, 2 * MS if at >= 10 else MS, versions={"uvloop": "0.2" + "12"[at >= 10]})
        for at in range(20)
    ]
    _written(tmp_path / "h.jsonl", points)
    assert "; with it changed: uvloop 0.21 to 0.22" in told("check")[1]


def test_half_a_line_is_left_out_and_said_and_gone_with_the_next_run(
    tmp_path: Path, told: Told
) -> None:
    path = _series(tmp_path / "h.jsonl", [MS] * 8)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    code, out, _ = told("check")
    assert code == FINE
    assert "half a line at the end of the file was left out" in out
    file.append(path, [_point(8, MS)])
    assert path.read_bytes() == whole + msgspec.json.encode(_point(8, MS)) + b"\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"format": 1', "line 1 cannot be read"),
        ('{"format": 1, "run": "x"}', "line 1 cannot be read: Object missing required field"),
        (None, "line 1 has format 2, this program reads 1"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str | None, said: str, tmp_path: Path) -> None:
    other = msgspec.json.encode(_point(0, MS, format=2)).decode()
    path = tmp_path / "h.jsonl"
    path.write_text(f"{line or other}\n", "utf-8")
    with pytest.raises(BenchError, match=said):
        history.check(path)


def test_runs_added_at_once_are_all_there_whole(program: Program) -> None:
    runs = [stored(program.folder / f"run-{at}", servers={"desk": MS}) for at in range(4)]
    started = [program.start("history", "add", str(run)) for run in runs]
    assert [each.wait(60) for each in started] == [FINE] * 4
    for each in started:
        each.communicate()
    points, torn = file.read(program.folder / "results" / "history.jsonl")
    assert torn == 0
    assert {point.run for point in points} == {run.name for run in runs}


def test_the_commit_is_the_one_checked_out(program: Program) -> None:
    def git(*words: str) -> str:
        names = ("-c", "user.name=n", "-c", "user.email=n@example.org")
        ended = subprocess.run(
            ("git", *names, *words), cwd=program.folder, check=True, capture_output=True, text=True
        )
        return ended.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    run = stored(program.folder / "run", servers={"desk": MS})
    said = program("history", "add", str(run), "--json")
    assert said.document["commit"] == git("rev-parse", "HEAD")
    (point, *_), _ = file.read(program.folder / "results" / "history.jsonl")
    assert point.commit_time is not None
    assert point.commit_time.endswith("Z")
    other = stored(program.folder / "other", servers={"desk": MS})
    refused = program("history", "add", str(other), "--commit", "no-such-branch")
    assert refused.code == USAGE
    assert '--commit "no-such-branch": git knows no such commit here' in refused.err


def test_a_history_is_drawn_in_text_and_as_a_picture(tmp_path: Path, told: Told) -> None:
    _series(tmp_path / "h.jsonl", _noisy([0.0] * 20 + [0.5] * 20))
    code, out, _ = told("show", "-o", tmp_path / "history.png")
    assert code == FINE
    assert "▁│█" in out.replace("▂", "▁").replace("▇", "█")
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")
    ax = bench.plots.history(tmp_path / "h.jsonl")
    assert any(text.get_text().startswith("+6") for text in ax.texts)
    assert ax.get_ylabel() == "call p50, ms"
    _, given = plt.subplots()
    assert bench.plots.history(tmp_path / "h.jsonl", given) is given
    plt.close("all")


def test_a_creep_is_drawn_as_a_slope(tmp_path: Path) -> None:
    ax = bench.plots.history(_series(tmp_path / "h.jsonl", _noisy(np.linspace(0, 0.3, 60))))
    assert [text.get_text()[:7] for text in ax.texts] == ["creep +"]
    plt.close("all")


def test_one_run_alone_has_a_whole_number_on_its_axis(tmp_path: Path) -> None:
    ax = bench.plots.history(_series(tmp_path / "h.jsonl", [MS]))
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [1.0]
    plt.close("all")


def test_a_segment_without_points_is_drawn_as_no_data(tmp_path: Path) -> None:
    ax = bench.plots.history(_series(tmp_path / "h.jsonl", [MS] * 8), segment="work")
    assert "no data" in [text.get_text() for text in ax.texts]
    plt.close("all")


def test_a_picture_that_cannot_be_written_is_said(tmp_path: Path, told: Told) -> None:
    _series(tmp_path / "h.jsonl", [MS] * 8)
    code, _, err = told("show", "-o", tmp_path / "history.exe")
    assert code == COULD_NOT
    assert "cannot be written" in err


def test_noise_of_a_percent_is_drawn_flat_and_many_runs_in_few_bars() -> None:
    points = [{"run": str(at), "value_ns": 1000 + at % 2 * 10} for at in range(200)]
    bars = course({"course": points, "steps": []})
    assert len(bars) == 40
    assert len(set(bars)) <= 2


def test_a_terminal_without_unicode_gets_ascii_bars(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (program.folder / "results").mkdir()
    _series(program.folder / "results" / "history.jsonl", [MS] * 8 + [2 * MS] * 8)
    said = program("history", "show")
    assert said.code == FINE
    assert "_|#" in said.out
    assert said.out.isascii()


def test_real_runs_become_history(program: Program) -> None:
    options = ("-r", "2", "-n", "40", "-w", "0", "--era", "stateful", "--json")
    for count in range(2):
        run = program("run", *options, "--", *module("trivial"))
        path = run.document["path"]
        added = program("history", "add", path, "--commit", f"abcdef{count}", "--json")
        assert added.code == FINE, added.err
        assert added.document["runs_before"] == count
    said = program("history", "check", "--json")
    assert said.code == COULD_NOT
    assert {each["wants"] for each in said.document["series"]} == {4}
    assert {(e["segment"], e["quantile"]) for e in said.document["series"]} >= {
        ("setup", "p50"),
        ("call", "p50"),
        ("call", "p90"),
    }


def test_an_unknown_name_of_a_commit_is_not_guessed(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", servers={"desk": MS})
    with pytest.raises(UsageError, match="git knows no such commit here, and it is no hash"):
        history.add(tmp_path / "h.jsonl", run, commit="--output=x")


def test_another_question_under_the_same_name_begins_a_series_anew(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    asked = {"name": "story", "call": [{"tool": "null", "arguments": {"a": 1}}], "warmup": 1}
    history.add(path, stored(tmp_path / "one", servers={"desk": MS}))
    history.add(path, changed(stored(tmp_path / "two", servers={"desk": MS}), scenarios=[asked]))
    slower = {**HOST, "cpu": "other"}
    history.add(path, changed(stored(tmp_path / "three", servers={"desk": MS}), host=slower))
    (first, *_) = history.check(path)["series"]
    assert (first["points"], first["measured_otherwise"]) == (1, 2)

"""`compare` of stored runs: verdicts, what forbids one, what is missing, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.cli import main
from bench.errors import COULD_NOT, FINE, SLOWER, USAGE, BenchError, UsageError
from tests.outside import Program, module, toml
from tests.stored import HOST, MS, changed, stored
from tests.story import CountingClock, Responder, run_in_memory


class Shown:
    """What `compare` said: its exit code, its text, and its document."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: object) -> None:
        self.code = main(["compare", *map(str, words)])
        self.text, self.err = capsys.readouterr()
        if not self.err:
            assert main(["compare", *map(str, words), "--json"]) == self.code
            self.document: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=_no)

    def row(self, segment: str, quantile: str = "p50") -> Mapping[str, Any]:
        """The comparison of a segment."""
        found: Mapping[str, Any] = next(
            each
            for each in self.document["comparisons"]
            if (each["segment"], each["quantile"]) == (segment, quantile)
        )
        return found


def _no(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def _run(path: Path, call_ns: int = MS, **keys: Any) -> Path:
    return changed(stored(path, servers={"desk": call_ns}), **keys)


def test_a_run_against_itself_is_the_same_and_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _run(tmp_path / "run")
    shown = Shown(capsys, run, run)
    assert (shown.code, shown.document["verdict"]) == (FINE, "same")
    assert {each["ratio"] for each in shown.document["comparisons"]} == {1.0}
    assert shown.text.startswith("SAME · run against run")
    assert "try: mcp-latency ab" in shown.text


def test_calls_that_take_longer_are_slower_and_end_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Shown(capsys, _run(tmp_path / "old"), _run(tmp_path / "new", round(1.2 * MS)))
    assert (shown.code, shown.document["verdict"]) == (SLOWER, "slower")
    assert shown.row("call")["ratio"] == pytest.approx(1.2, abs=0.02)
    assert shown.row("call")["low"] > 1.1
    assert (shown.row("call")["verdict"], shown.row("setup")["verdict"]) == ("slower", "same")
    assert "call p50 is slower, +" in shown.text


def test_the_other_way_round_it_is_faster_and_the_ratio_inverts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = _run(tmp_path / "old"), _run(tmp_path / "new", round(1.2 * MS))
    there, back = Shown(capsys, old, new), Shown(capsys, new, old)
    assert back.code == FINE
    assert back.document["verdict"] == "faster"
    assert there.row("call")["ratio"] * back.row("call")["ratio"] == pytest.approx(1, abs=1e-4)


def test_another_processor_is_named_and_leaves_no_verdict_but_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**HOST, "cpu": "Intel Xeon E5-2673 v4"}
    runs = _run(tmp_path / "a"), _run(tmp_path / "b", round(1.26 * MS), host=other)
    shown = Shown(capsys, *runs)
    assert (shown.code, shown.document["verdict"]) == (COULD_NOT, "cannot tell")
    assert {each["verdict"] for each in shown.document["comparisons"]} == {"cannot tell"}
    assert (
        "not the same host (cpu: AMD EPYC 7763 64-Core Processor, then Intel Xeon E5-2673 v4): "
        "no verdict; to have one anyway: --force"
    ) in shown.text
    forced = Shown(capsys, *runs, "--force")
    assert (forced.code, forced.document["verdict"]) == (SLOWER, "slower")
    assert "the verdict was forced" in forced.text


def test_the_same_processor_without_a_change_of_host_tells_a_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Shown(capsys, _run(tmp_path / "a", 100 * MS), _run(tmp_path / "b", 72 * MS))
    assert shown.code == FINE
    assert "÷" not in shown.text
    assert shown.row("call")["ratio"] == pytest.approx(0.72, abs=0.01)
    assert shown.row("call")["verdict"] == "faster"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"cores": 8}, "cores: 4, then 8"),
        ({"system": "Linux 6.11.0"}, "system: Linux 6.8.0-1017-azure, then Linux 6.11.0"),
        ({"python": "3.13.0"}, "python: 3.12.4, then 3.13.0"),
        ({"cgroup": {"cpus": 1.0}}, "cgroup cpus: 2.0, then 1.0"),
        ({"cgroup": {"cpus": 2.0, "memory_bytes": 1}}, None),
        ({"noise": {"load_1min": 9.0}, "pyperf": {"cpu_freq": "1"}}, None),
    ],
)
def test_a_fact_of_the_host_that_lasts_tells_hosts_apart_and_one_that_does_not_never(
    host: dict[str, Any], words: str | None, tmp_path: Path
) -> None:
    base = _run(tmp_path / "a", host={**HOST, "cgroup": {"cpus": 2.0}})
    head = _run(tmp_path / "b", host={**HOST, "cgroup": {"cpus": 2.0}, **host})
    found = bench.compare(base, head)
    said = " ".join(found["reasons"])
    assert ("not the same host" in said) is (words is not None)
    assert words is None or words in said


def test_another_release_of_our_client_is_another_client(tmp_path: Path) -> None:
    versions = {**HOST["versions"], "uvloop": "0.22.0"}
    base, head = _run(tmp_path / "a"), _run(tmp_path / "b", host={**HOST, "versions": versions})
    found = bench.compare(base, head)
    assert found["verdict"] == "cannot tell"
    assert found["reasons"][0].startswith("not the same client (uvloop: 0.21.0, then 0.22.0)")


def test_two_factors_at_once_leave_a_table_without_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"name": "story", "call": [{"tool": "null", "arguments": {"text": "x"}}], "warmup": 1}
    head = _run(tmp_path / "b", 60 * MS, placement={"client": [], "server": []}, scenarios=[other])
    shown = Shown(capsys, _run(tmp_path / "a"), head)
    assert shown.code == COULD_NOT
    assert shown.document["factors"] == ["placement", "scenario"]
    assert "2 factors differ: placement, scenario; no verdict" in shown.text
    assert "is slower" not in shown.text
    assert "placement" in shown.text
    assert "0:1" in shown.text
    assert "× 5" in shown.text


def test_one_factor_is_what_the_change_is_of(tmp_path: Path) -> None:
    head = _run(tmp_path / "b", 2 * MS, placement={"client": [], "server": []})
    found = bench.compare(_run(tmp_path / "a"), head)
    assert (found["verdict"], found["factors"]) == ("slower", ["placement"])
    assert found["differs"] == [
        {"what": "placement", "weight": "factor", "base": "0:1", "head": "none"}
    ]


def test_cells_that_are_missing_new_or_failed_are_listed_and_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = stored(tmp_path / "base", servers={"a": MS, "b": MS, "c": MS})
    head = stored(tmp_path / "head", servers={"a": MS, "b": None, "d": MS})
    shown = Shown(capsys, base, head)
    found = shown.document
    assert shown.code == COULD_NOT
    assert found["compared"] == 1
    assert [each["cell"] for each in found["failed"]] == ["story/b/memory/stateful"]
    assert found["missing"] == ["story/c/memory/stateful"]
    assert found["new"] == ["story/d/memory/stateful"]
    assert {each["head"] for each in found["comparisons"]} == {"story/a/memory/stateful"}
    assert {each["verdict"] for each in found["comparisons"]} == {"same"}
    assert (
        '"story/c/memory/stateful" is missing in the newer run; '
        'did you mean "story/d/memory/stateful"?'
    ) in shown.text
    assert '"story/d/memory/stateful" is new: it has no baseline' in shown.text
    assert '"story/b/memory/stateful" failed in head and was not compared: ' in shown.text


def test_a_failed_baseline_is_no_baseline(tmp_path: Path) -> None:
    base = stored(tmp_path / "base", servers={"a": None})
    found = bench.compare(base, stored(tmp_path / "head", servers={"a": MS}))
    assert (found["verdict"], found["compared"], found["comparisons"]) == ("cannot tell", 0, [])
    assert found["reasons"][0] == "nothing was compared"
    assert found["failed"][0]["side"] == "base"


def test_calls_that_failed_are_not_compared_as_fast_ones(tmp_path: Path) -> None:
    head = tmp_path / "head"
    clock = CountingClock()

    class Refusing(Responder):
        def __call__(self, body: bytes) -> list[bytes]:
            if json.loads(body)["method"] == "tools/call" and self.calls % 3 == 0:
                self.answers["tools/call"] = {"result": {"content": [], "isError": True}}
            else:
                self.answers.pop("tools/call", None)
            return list(super().__call__(body))

    run_in_memory(head, Refusing(clock, {}), clock, eras=("stateful",))
    base = tmp_path / "base"
    run_in_memory(base, Responder(clock, {}), clock, eras=("stateful",))
    found = bench.compare(base, head)
    assert found["verdict"] == "cannot tell"
    assert found["failed"][0]["why"].endswith(" calls failed")


def test_runs_without_a_common_cell_compare_nothing_and_end_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = stored(tmp_path / "base", servers={"a": MS, "b": MS})
    shown = Shown(capsys, base, stored(tmp_path / "head", servers={"x": MS, "y": MS}))
    assert shown.code == COULD_NOT
    assert "nothing was compared" in shown.text


def test_two_servers_in_runs_of_their_own_differ_in_one_factor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = stored(tmp_path / "base", servers={"python": MS})
    shown = Shown(capsys, base, stored(tmp_path / "head", servers={"node": 2 * MS}))
    assert (shown.code, shown.document["factors"]) == (SLOWER, ["server"])
    assert "one factor differs, and the change is its own: server" in shown.text


def test_an_axis_pairs_the_cells_of_two_runs_across_it(tmp_path: Path) -> None:
    base = stored(tmp_path / "base", servers={"a": MS, "b": MS})
    head = stored(tmp_path / "head", servers={"c": 2 * MS})
    found = bench.compare(base, head, axis="server")
    assert found["factors"] == ["server"]
    assert {(each["base"], each["head"]) for each in found["comparisons"]} == {
        (f"story/{name}/memory/stateful", "story/c/memory/stateful") for name in "ab"
    }
    assert found["missing"] == []


def test_few_launches_say_how_many_would_tell(tmp_path: Path) -> None:
    base = stored(tmp_path / "base", servers={"a": MS}, launches=3)
    head = stored(tmp_path / "head", servers={"a": 2 * MS}, launches=3)
    found = bench.compare(base, head)
    assert found["verdict"] == "cannot tell"
    assert found["reasons"][0] == (
        "too few launches (3) for a verdict on every figure; try: run --launches 5"
    )


def test_scatter_that_no_number_of_launches_would_help_is_said(tmp_path: Path) -> None:
    base = stored(tmp_path / "base", servers={"a": MS}, launches=6, scatter=0.5)
    found = bench.compare(base, stored(tmp_path / "heads", servers={"a": MS}, scatter=0.5))
    assert found["verdict"] == "cannot tell"
    assert found["reasons"][0].startswith("too much scatter for a verdict on every figure")


def test_along_an_axis_one_run_is_compared_as_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = CountingClock()
    costs = {"initialize": 3 * MS, "tools/call": MS, "server/discover": MS}
    run_in_memory(tmp_path / "run", Responder(clock, costs), clock, launches=12)
    shown = Shown(capsys, tmp_path / "run", "--axis", "era")
    own = bench.load(tmp_path / "run").summary()["comparisons"]
    assert shown.document["interleaved"]
    assert shown.document["comparisons"] == own
    assert shown.document["verdict"] == "faster"
    assert shown.code == FINE
    assert "run along era, launch by launch" in shown.text


def test_an_axis_that_a_run_did_not_vary_compares_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path / "run")
    with pytest.raises(BenchError, match='nothing to compare along "era"; it has no two cells'):
        bench.compare(run, axis="era")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["RUN"], "compare with what? give a second run, or --axis, e.g. --axis era"),
        (["RUN", "--axis", "ear"], '--axis "ear" is no axis; did you mean "era"?'),
        (["RUN", "--axis", "era", "--force"], "--force goes with two runs"),
    ],
)
def test_words_that_do_not_fit_are_wrong_usage(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(_run(tmp_path / "run"))
    assert main(["compare", *(run if word == "RUN" else word for word in words)]) == USAGE
    assert said in capsys.readouterr().err
    with pytest.raises(UsageError):
        bench.compare(run)


def test_markdown_holds_the_same_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = _run(tmp_path / "run")
    assert main(["compare", str(run), str(run), "--format", "markdown"]) == FINE
    text = capsys.readouterr().out
    assert "| segment |" in text
    assert text.startswith("### mcp-latency")


def test_two_real_runs_find_the_tool_that_got_slower(program: Program) -> None:
    program.scenario("small", 'servers = ["dials"]\n[[call]]\ntool = "turn"\n')
    options = ("-r", "6", "-n", "3", "-w", "0", "--pin", "none", "--probe", "off", "--json")
    runs = []
    for wait_ms in (1, 60):
        dials = f"{{DIALS = '{{\"handler\": {wait_ms * MS}}}'}}"
        program.recipe("dials", stdio=toml(module("dials")), env=dials)
        said = program("run", "small", "--era", "stateful", *options)
        runs.append(str(program.folder / said.document["path"]))
    said = program("compare", *runs, "--json")
    assert said.code == SLOWER, said.err
    (call,) = (each for each in said.document["comparisons"] if each["segment"] == "call")
    assert call["verdict"] == "slower"
    assert call["ratio"] > 10
    assert said.document["factors"] == []

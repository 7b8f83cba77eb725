"""The pytest plugin: light to load, and its assertions fail with words."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.pytest_plugin import Compared, Latency, Run
from tests.outside import module
from tests.test_exports import VERDICT

TOP = Path(__file__).parent.parent
HEAVY = ("numpy", "pandas", "pyarrow", "scipy", "matplotlib", "anyio", "bench.store")
FEW = {"era": "stateful", "launches": 2, "calls": 3, "warmup": 0, "pin": "none"}


def test_the_package_names_the_plugin_and_loading_it_loads_nothing_heavy() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"mcp-latency": "bench.pytest_plugin"}
    program = f"import sys, bench.pytest_plugin; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def _pytest(folder: Path, text: str) -> str:
    """What pytest says of a file of tests, with our plugin and no other."""
    (folder / "test_of_a_user.py").write_text(text, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "bench.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "test_of_a_user.py"],
        cwd=folder,
        env={
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(TOP),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_a_server_is_measured_inside_a_test_and_a_wrong_bound_fails_with_its_figures(
    tmp_path: Path,
) -> None:
    said = _pytest(
        tmp_path,
        f"""
SERVER = {module("trivial")!r}

def test_fine(mcp_latency):
    run = mcp_latency.run(SERVER, **{FEW!r})
    assert run.call.n == 6
    assert run.call.p50_ns > 0
    assert run.path.is_dir()

def test_wrong(mcp_latency):
    assert mcp_latency.run(SERVER, **{FEW!r}).call.p50_ns < 0
""",
    )
    assert "1 failed, 1 passed" in said
    assert "stdio/stateful call: p50 " in said
    assert "6 readings>" in said


def test_a_gated_metric_reads_as_a_sentence_where_its_assertion_fails(tmp_path: Path) -> None:
    said = _pytest(
        tmp_path,
        f"""
from bench.pytest_plugin import Compared

def test_slower():
    compared = Compared({VERDICT!r})
    assert compared.call.p50.ratio < 1.01
""",
    )
    sentence = "<call p50: slower, +2.1 % (+1.2 % to +3.0 %); 1.4 % would have been seen>.ratio"
    assert f"1.021 = {sentence}" in said


def test_a_server_is_compared_with_another_and_the_failed_assertion_says_how_sure_it_is(
    tmp_path: Path,
) -> None:
    said = _pytest(
        tmp_path,
        f"""
BASE, HEAD = {module("slower", "1000", "0")!r}, {module("slower", "30000", "0")!r}

def test_not_slower(mcp_latency):
    few = dict(tool="echo", calls=5, blocks=12, max_blocks=12, pin="none")
    compared = mcp_latency.ab(BASE, HEAD, **few)
    assert compared.verdict == "slower"
    assert compared.call.p50.ratio < 1.05
""",
    )
    assert "1 failed" in said
    assert re.search(r"= <call p50: slower, [+×] ?[0-9.]+.* \(.* to .*\); .* seen>\.ratio", said), (
        said
    )


def test_what_is_not_gated_is_said_with_what_is() -> None:
    compared = Compared(VERDICT)
    assert compared.verdict == "slower"
    with pytest.raises(AttributeError, match='no "cal" here; did you mean "call"'):
        compared.cal  # noqa: B018
    with pytest.raises(AttributeError, match='no "p99" here'):
        compared.call.p99  # noqa: B018


def test_a_quantile_that_the_sample_does_not_carry_says_what_it_takes(tmp_path: Path) -> None:
    run = Latency(tmp_path).run(module("trivial"), **FEW)
    with pytest.raises(AssertionError, match="6 readings do not carry it, p99 takes 368"):
        run.call.p99_ns  # noqa: B018


def test_of_several_cells_each_has_its_name_and_the_first_one_speaks_for_the_run(
    tmp_path: Path,
) -> None:
    both = {**FEW, "era": ["stateful", "stateless"]}
    run = Latency(tmp_path).run(module("trivial"), **both)
    assert isinstance(run, Run)
    assert [cells["call"].n for cells in run.cells.values()] == [6, 6]
    assert repr(run.call) == repr(next(iter(run.cells.values()))["call"])
    assert "/stdio/stateful call: p50 " in repr(run.call)


def test_a_server_that_cannot_be_measured_fails_with_the_programs_own_words(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="last words"):
        Latency(tmp_path).run(module("exits_early"), **FEW)
    with pytest.raises(BenchError, match=r"failed|no calls"):
        Latency(tmp_path).run(module("refuses_calls"), **FEW)
    with pytest.raises(BenchError, match="--no-such-option"):
        Latency(tmp_path).run(module("trivial"), no_such_option=True)


def test_the_documented_tests_run(tmp_path: Path) -> None:
    document = (TOP / "docs" / "ci.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", document, re.S)
    server = shlex.join(module("trivial"))
    few = 'tool="echo", calls=3, pin="none"'
    block = block.replace("git:v1.0 -- python server.py", server).replace(
        "python server.py", server
    )
    block = block.replace(f'"{server}")\n', f'"{server}", blocks=8, max_blocks=8, {few})\n')
    block = block.replace('tool="search", quick=True', f"quick=True, {few}")
    block = block.replace("< 1.05", "> 0").replace("< 5_000_000", "> 0")
    assert "2 passed" in _pytest(tmp_path, block)

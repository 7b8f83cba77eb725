"""Revisions on the side of a comparison: checked out where one stands, and never left behind."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from bench.errors import INTERRUPTED, BenchError
from tests.outside import PATIENCE_S, Program, module

AS_SOMEONE = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *AS_SOMEONE, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def repository(folder: Path) -> Path:
    """A repository with one file below its top."""
    git(folder, "init", "-q", "-b", "main", ".")
    below = folder / "servers"
    below.mkdir()
    (below / "here").write_text("", "utf-8")
    git(folder, "add", "servers")
    git(folder, "commit", "-q", "-m", "one")
    return below


def worktrees(folder: Path) -> int:
    return len(git(folder, "worktree", "list").splitlines())


SERVER = " ".join(module("trivial"))
SIDES = ("--base", f"git:main -- {SERVER}", "--head", SERVER, "--tool", "echo", "--pin", "none")


def test_a_revision_is_entered_where_one_stands_in_the_repository(tmp_path: Path) -> None:
    below = repository(tmp_path)
    said = Program(below)(
        "ab",
        *SIDES,
        "--setup",
        "test -f here || exit 9",
        "--blocks",
        "6",
        "-n",
        "3",
        "--max-blocks",
        "6",
        "--json",
    )
    assert "--setup ended" not in said.err
    assert said.document["blocks_made"] == 6
    assert worktrees(tmp_path) == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_setup_that_is_broken_off_leaves_no_process_and_no_checkout(
    tmp_path: Path, how: signal.Signals
) -> None:
    below = repository(tmp_path)
    program = Program(below)
    marker = below / "setting-up"
    setup = f"sleep 600 & touch {marker}; wait"
    started = program.start("ab", *SIDES, "--setup", setup)
    _until_there(marker, started)
    started.send_signal(how)
    said = program.ended(started)
    assert said.code == INTERRUPTED, said.err
    assert said.left == []
    assert worktrees(tmp_path) == 1


def test_an_interrupted_comparison_keeps_its_blocks_has_no_verdict_and_no_checkout(
    tmp_path: Path,
) -> None:
    below = repository(tmp_path)
    program = Program(below)
    started = program.start("ab", *SIDES, "--blocks", "5000", "-n", "3", "--json")
    while not list(below.glob("results/*/launches.jsonl")):
        assert started.poll() is None
        psutil.Process(started.pid).cpu_times()
    started.send_signal(signal.SIGINT)
    said = program.ended(started)
    assert said.code == INTERRUPTED, said.err
    assert said.document["status"] == "interrupted"
    assert said.document["verdict"] == "cannot tell"
    assert said.left == []
    assert worktrees(tmp_path) == 1


def test_outside_a_repository_git_is_quoted(tmp_path: Path) -> None:
    said = Program(tmp_path)("ab", *SIDES)
    assert said.code == BenchError.exit_code
    assert "not a git repository" in said.err


def _until_there(file: Path, started: subprocess.Popen[str]) -> None:
    parent = file.parent
    with subprocess.Popen(
        ["sh", "-c", f"until [ -e {file} ]; do sleep 0.05; done"], cwd=parent
    ) as waiting:
        waiting.wait(PATIENCE_S)
    assert started.poll() is None

"""A revision of the repository one stands in, checked out for as long as it is measured."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.errors import BenchError

SETUP_LIMIT_S = 1800.0


@contextlib.contextmanager
def worktree(revision: str, setup: str | None) -> Iterator[Path]:
    """A folder with that revision, in which the command `setup` has been run; gone at the end.

    Raises BenchError where there is no such revision, or where its setup fails.
    """
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit is None:
        raise BenchError(f'git knows no revision "{revision}" here; try: git fetch')
    with tempfile.TemporaryDirectory(prefix="mcp-latency-") as parent:
        path = Path(parent) / "head"
        if _git("worktree", "add", "--quiet", "--detach", str(path), commit) is None:
            raise BenchError(f"git could not check out {revision}")
        try:
            if setup is not None:
                _set_up(setup, path, revision)
            yield path
        finally:
            _git("worktree", "remove", "--force", str(path))
            _git("worktree", "prune")


def _set_up(command: str, path: Path, revision: str) -> None:
    """What the command prints goes to standard error: results stand alone on the other."""
    try:
        done = subprocess.run(
            command, shell=True, cwd=path, check=False, stdout=sys.stderr, timeout=SETUP_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"--setup took longer than {SETUP_LIMIT_S:g} s in {revision}") from error
    if done.returncode:
        raise BenchError(f"--setup ended with status {done.returncode} in {revision}: {command}")


def _git(*words: str) -> str | None:
    """What git said, without the end of the line; None where it failed."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"git cannot be run: {error.strerror}") from error
    return done.stdout.strip() if done.returncode == 0 else None

"""A revision of the repository one stands in, checked out for as long as it is measured."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from bench.errors import BenchError

SETUP_LIMIT_S = 1800.0
GIT_LIMIT_S = 300.0


@contextlib.contextmanager
def worktree(revision: str, setup: str | None) -> Iterator[Path]:
    """A folder with that revision, in which the command `setup` has been run; gone at the end.

    Below the repository's top it is the folder of the same name as the one one stands in. Raises
    BenchError where there is no such revision, or where its setup fails.
    """
    below = _git("rev-parse", "--show-prefix")
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}", about=revision)
    with tempfile.TemporaryDirectory(prefix="mcp-latency-", ignore_cleanup_errors=True) as parent:
        path = Path(parent) / "tree"
        try:
            _git("worktree", "add", "--quiet", "--detach", str(path), commit)
            folder = path / below
            if not folder.is_dir():
                raise BenchError(f'the revision "{revision}" has no folder {below}')
            if setup is not None:
                _set_up(setup, folder, revision)
            yield folder
        finally:
            with _undisturbed():
                _forget(path)


def _set_up(command: str, folder: Path, revision: str) -> None:
    """What the command prints goes to standard error: results stand alone on the other.

    It has a session of its own, so that whatever ends us can end all that it has started.
    """
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )
    try:
        status = process.wait(SETUP_LIMIT_S)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise BenchError(f"--setup took longer than {SETUP_LIMIT_S:g} s in {revision}") from error
    if status:
        raise BenchError(f"--setup ended with status {status} in {revision}: {command}")


def _git(*words: str, about: str | None = None) -> str:
    """What git said, without the end of the line; BenchError, with its own words, where it failed.

    Its session is its own: Ctrl-C is for us, and what git has begun it ends.
    """
    try:
        done = subprocess.run(
            ["git", *words],
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
            timeout=GIT_LIMIT_S,
        )
    except OSError as error:
        raise BenchError(f"git cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"git {words[0]} took more than {GIT_LIMIT_S:.0f} s") from error
    if done.returncode and about is not None and "Needed a single revision" in done.stderr:
        raise BenchError(f'git knows no revision "{about}" here; try: git fetch')
    if done.returncode:
        said = " / ".join(done.stderr.strip().splitlines()[-3:])
        raise BenchError(f"git {words[0]} failed: {said}")
    return done.stdout.strip()


def _forget(path: Path) -> None:
    """Remove the worktree, whatever state it is in."""
    for rest in (("remove", "--force", "--force", str(path)), ("prune",)):
        subprocess.run(
            ["git", "worktree", *rest], capture_output=True, check=False, start_new_session=True
        )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C once more does not keep us from cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield  # it interrupts the main thread alone
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

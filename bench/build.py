"""Environments and working files, built whole or not at all; installers run quietly."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.errors import BenchError

READY = ".ready"
INSTALL_LIMIT_S = 1_200.0
LAST_WORDS_LINES = 15


def python(place: Path, lock: Path) -> None:
    """Build in place, since an environment cannot be moved; READY, written last, makes it count.

    A lock file is complete, so nothing is resolved: older pips want a pin of `x[extra]` too.
    """
    place.mkdir(parents=True, exist_ok=True)
    do([sys.executable, "-m", "venv", "--clear", str(place)])
    pip = [
        str(python_of(place)),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--no-deps",
    ]
    do([*pip, "--requirement", str(lock)])
    (place / READY).touch()


def npm(place: Path, lock: Path, command: Sequence[str]) -> None:
    """The packages of a lock file, whose package.json lies beside it; `command` starts npm."""
    with appearing(place) as work:
        for file in (lock, lock.with_name("package.json")):
            shutil.copyfile(file, work / file.name)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        do([*command, "ci", "--ignore-scripts", *quiet], folder=work)
        (work / "node_modules").mkdir(exist_ok=True)


def python_of(place: Path) -> Path:
    """The interpreter of an environment."""
    return place / "Scripts" / "python.exe" if os.name == "nt" else place / "bin" / "python"


@contextlib.contextmanager
def appearing(place: Path) -> Iterator[Path]:
    """A folder to fill beside `place`, renamed to it, so that a place that exists is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent) as scratch:
        work = Path(scratch) / "new"
        work.mkdir()
        yield work
        with contextlib.suppress(OSError):  # another process was first; what it built is the same
            work.rename(place)
    if not place.is_dir():
        raise BenchError(f"could not write {place}; try: MCP_LATENCY_HOME=… make servers")


def do(command: Sequence[str], *, folder: Path | None = None) -> None:
    """Run an installer quietly; its last words are told where it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(
            f"`{' '.join(command)}` did not end within {INSTALL_LIMIT_S:.0f} s"
        ) from error
    if done.returncode != 0:
        lines = done.stdout.decode(errors="replace").strip().splitlines()[-LAST_WORDS_LINES:]
        raise BenchError(
            f"`{' '.join(command)}` left with status {done.returncode}; last words:\n"
            + "\n".join(lines)
        )

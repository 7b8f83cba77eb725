"""The measuring step: `ab` of base and head, its verdict as step summary, outputs and exit code."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from bench.ci import words
from bench.ci.job import PREFIX, Job, job
from bench.errors import COULD_NOT, BenchError

LAST_WORDS = 20
SUMMARY_BYTES = 1_000_000
SECRETS = ("GITHUB_TOKEN", f"{PREFIX}TOKEN")


def run(variables: Mapping[str, str], event: Mapping[str, Any]) -> int:
    """Measure; write what the runner reads; the exit code of `ab`, 2 where it said nothing."""
    asked = job(variables, event)
    if asked.revision is not None:
        _fetch(asked.revision)
    home = place(variables)
    out = Path(tempfile.mkdtemp(prefix="results-", dir=home))
    code, said, last_words = _ab(asked, out, variables)
    verdict = _document(said)
    if verdict is None:
        text = words.failure(code, last_words)
        code = code or COULD_NOT
    else:
        text = words.summary(verdict)
    comment_file(variables).write_text(text, "utf-8")
    _append(variables.get("GITHUB_STEP_SUMMARY"), words.bounded(text, SUMMARY_BYTES))
    outputs = {"code": str(code), "verdict": "none", "folder": ""}
    if verdict is not None:
        outputs["folder"] = str(Path(verdict["path"]).resolve())
        outputs["verdict"] = words.decided(verdict)
    for name, value in outputs.items():
        _append(variables.get("GITHUB_OUTPUT"), f"{name}={value}\n")
    print(text)
    return code


def place(variables: Mapping[str, str]) -> Path:
    """The folder of this job's files, made where it is not there yet."""
    home = Path(variables.get("RUNNER_TEMP") or tempfile.gettempdir()) / "mcp-latency"
    home.mkdir(parents=True, exist_ok=True)
    return home


def comment_file(variables: Mapping[str, str]) -> Path:
    """Where the summary is kept for the step that comments."""
    return place(variables) / "comment.md"


def _fetch(revision: str) -> None:
    """A shallow checkout has no base: fetch that one commit."""
    there = subprocess.run(
        ["git", "cat-file", "-e", f"{revision}^{{commit}}"], capture_output=True, check=False
    )
    if there.returncode == 0:
        return
    fetched = subprocess.run(
        ["git", "fetch", "--quiet", "--depth=1", "origin", revision],
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode:
        raise BenchError(
            f"the base {revision} is not here and cannot be fetched: {fetched.stderr.strip()}; "
            "try: fetch-depth: 0 at actions/checkout"
        )


def _ab(asked: Job, out: Path, variables: Mapping[str, str]) -> tuple[int, str, Sequence[str]]:
    """Exit code, stdout, and the last lines of stderr, which is shown as it comes.

    The servers inherit no token. `-P`: a folder `bench` of the repository is not ours.
    """
    command = [sys.executable, "-P", "-m", "bench", "ab", "--json", "-o", str(out)]
    command += ["--base", asked.base, "--head", asked.head, *asked.options]
    inherited = {name: value for name, value in variables.items() if name not in SECRETS}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdout,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            env=inherited,
        ) as process,
    ):
        assert process.stderr is not None
        last_words = _echoed(process.stderr)
        code = process.wait()
        stdout.seek(0)
        return code, stdout.read(), last_words


def _echoed(lines: IO[str]) -> Sequence[str]:
    """Show the lines in the log, where nothing that a server says is a workflow command."""
    last_words: deque[str] = deque(maxlen=LAST_WORDS)
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    for line in lines:
        print(line, end="", flush=True)
        last_words.append(line.rstrip("\n"))
    print(f"::{token}::", flush=True)
    return last_words


def _document(said: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = json.loads(said)
    except ValueError:
        return None
    told = isinstance(found, dict) and "verdict" in found and not found.get("failed")
    return found if told else None


def _append(file: str | None, text: str) -> None:
    if file:
        with Path(file).open("a", encoding="utf-8") as opened:
            opened.write(text)

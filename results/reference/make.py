"""The reference runs: `make reference` measures what is not there yet, one folder a question.

A run that was broken off is measured again from its start; a folder that is there is kept. To
have one measured anew, remove it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import bench

HERE = Path(__file__).parent
SEED = "1"
RUNS: Mapping[str, tuple[str, ...]] = {
    "tickets": ("tickets", "--launches", "20"),
    "sdks": ("sdks", "--launches", "20", "--response", "json,sse", "--session", "kept,none"),
    "servers": (
        *("everything", "filesystem", "memory", "time", "git", "fetch", "sqlite", "mcp-time"),
        *("leanspec", "biomcp", "mcptmp", "--launches", "20"),
    ),
    "clients": ("tickets", "--client", "wire,sdk,sdk-auto", "--launches", "20"),
    "payload": ("payload", "--era", "stateful", "--launches", "10", "--calls", "240"),
    "catalogue": ("catalogue", "--era", "stateful", "--launches", "10", "--calls", "40"),
}
# A history to look at: calls of 1 ms, then calls that were programmed to take so much more.
HISTORY, RUNS_BEFORE, RUNS_AFTER, CALL_US, MORE_US = HERE / "history.jsonl", 20, 12, 1_000, 120
SPINNING = (sys.executable, "-m", "tests.servers.slower")
WITH_TRANSCRIPT = ("tickets",)  # of the others it would be most of their weight


def main() -> int:
    """Measure what is missing; 0 where all is there afterwards."""
    for number, (name, words) in enumerate(RUNS.items(), 1):
        where = HERE / name
        if where.is_dir():
            print(f"{number} of {len(RUNS)}: {name} is there", flush=True)
            continue
        print(f"{number} of {len(RUNS)}: {name}: mcp-latency run {' '.join(words)}", flush=True)
        began_s = time.monotonic()
        if not measured(where, words):
            return 1
        print(f"{name} took {time.monotonic() - began_s:.0f} s", flush=True)
    return 0 if HISTORY.is_file() or remembered() else 1


def remembered() -> bool:
    """Make the history, a run a line; False where one of them was not made."""
    made = HERE / ".history"
    shutil.rmtree(made, ignore_errors=True)
    for number in range(RUNS_BEFORE + RUNS_AFTER):
        spin_us = CALL_US + (MORE_US if number >= RUNS_BEFORE else 0)
        print(f"history: run {number + 1} of {RUNS_BEFORE + RUNS_AFTER}", flush=True)
        target = ("--era", "stateful", "--", *SPINNING, str(spin_us), "20")
        runs = made / "runs"
        if bench_said("run", "--quick", "--out", str(runs), *target) != 0:
            return False
        newest = max(runs.iterdir())
        if bench_said("history", "add", str(newest), "--file", str(made / "history")) != 0:
            return False
    (made / "history").rename(HISTORY)
    shutil.rmtree(made)
    return True


def bench_said(*words: str) -> int:
    """The exit code of a verb, whose results are what is wanted."""
    command = (sys.executable, "-m", "bench", *words)
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def measured(where: Path, words: tuple[str, ...]) -> bool:
    """Make one run and keep it under its name; False where it was not made."""
    making = HERE / ".making"
    shutil.rmtree(making, ignore_errors=True)
    code = bench_said("run", *words, "--seed", SEED, "--out", str(making))
    (made,) = making.iterdir()
    if code != 0:
        print(f"exit code {code}; what there is of it is in {made}", file=sys.stderr)
        return False
    if where.name not in WITH_TRANSCRIPT:
        (made / "transcript.jsonl").unlink(missing_ok=True)
    summarise(made)
    made.rename(where)
    making.rmdir()
    return True


def summarise(run: Path) -> None:
    """Write what the program says of a run beside it, for readers that have only a data frame."""
    bench.load(run).segments.to_parquet(run / "summary.parquet", index=False)


if __name__ == "__main__":
    sys.exit(main())

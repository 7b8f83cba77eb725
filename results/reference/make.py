"""The reference runs: `make reference` measures what is not there yet, one folder a question.

A run that was broken off is measured again from its start; a folder that is there is kept. To
have one measured anew, remove it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
    "payload": ("payload", "--launches", "10", "--calls", "200"),
    "catalogue": ("catalogue", "--launches", "10", "--calls", "40"),
}
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
    return 0


def measured(where: Path, words: tuple[str, ...]) -> bool:
    """Make one run and keep it under its name; False where it was not made."""
    making = HERE / ".making"
    shutil.rmtree(making, ignore_errors=True)
    command = (sys.executable, "-m", "bench", "run", *words, "--seed", SEED, "--out", str(making))
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    (made,) = making.iterdir()
    if done.returncode not in (0, 3):
        print(f"exit code {done.returncode}; what there is of it is in {made}", file=sys.stderr)
        return False
    if where.name not in WITH_TRANSCRIPT:
        (made / "transcript.jsonl").unlink(missing_ok=True)
    summarise(made)
    made.rename(where)
    making.rmdir()
    return True


def summarise(run: Path) -> None:
    """Write what the program says of a run beside it, for readers that have only a data frame."""
    pq.write_table(pa.Table.from_pylist(list(rows(run))), run / "summary.parquet")


def rows(run: Path) -> Iterator[dict[str, Any]]:
    """One row a cell and segment: who it is, and the figures of `report --format json`, ns."""
    for cell in bench.load(run).summary()["cells"]:
        who = {key: cell[key] for key in ("cell", "server", "transport", "era", "work_source")}
        for segment, figures in cell["segments"].items():
            numbers = {key: value for key, value in figures.items() if key != "over"}
            yield {**who, **cell["variant"], "segment": segment, **numbers}


if __name__ == "__main__":
    sys.exit(main())

"""A run in the formats of other programs: one file a format, each from what was chosen to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.export import bencher, csv, github_benchmark, hgrm, junit, perfetto, pyperf
from bench.export.chosen import Chosen, choose

FORMAT = 1
EXPORTS: Mapping[str, Callable[[Chosen], str]] = {
    "pyperf": pyperf.render,
    "perfetto": perfetto.render,
    "bencher": bencher.render,
    "github-action-benchmark": github_benchmark.render,
    "junit": junit.render,
    "csv": csv.render,
    "hgrm": hgrm.render,
}


def export(
    folder: Path, to: str, *, cell: str | None = None, out: Path | None = None
) -> dict[str, Any]:
    """The document of `export --json`: `content` is the text, None where it went to the file."""
    text = EXPORTS[to](choose(folder, cell=cell))
    if out is not None:
        _write(text, out)
    content = text if out is None else None
    return {"format": FORMAT, "to": to, "out": out and str(out), "content": content}


def _write(text: str, out: Path) -> None:
    try:
        out.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise BenchError(f"{out} cannot be written: {error.strerror}; try: -o FILE") from error

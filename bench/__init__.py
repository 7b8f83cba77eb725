"""A latency benchmarking harness for MCP servers: runs as data frames, and their comparison."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.frames import LoadedRun


def load(path: str | Path) -> LoadedRun:
    """The run in a results folder; raises BenchError where there is none.

    `run.calls`, `run.launches` and `run.messages` are pandas frames; `run.summary()` is the
    document of `mcp-latency report --format json`. Imported late: `import bench` stays cheap.
    """
    from bench.frames import LoadedRun

    return LoadedRun(path)


def compare(
    base: str | Path | LoadedRun,
    head: str | Path | LoadedRun | None = None,
    *,
    axis: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """The document of `mcp-latency compare --json`: two runs, or one along an axis of its own.

    Each is a results folder or a loaded run; raises BenchError where there is nothing to compare.
    """
    from bench import versus

    folders = [each if isinstance(each, str | Path) else each.path for each in (base, head) if each]
    return versus.document(*folders, axis=axis, force=force)


def __getattr__(name: str) -> ModuleType:
    """`bench.plots`, imported when it is asked for: matplotlib takes half a second."""
    if name == "plots":
        return importlib.import_module("bench.plots")
    raise AttributeError(f"module 'bench' has no attribute {name!r}")

"""pyperf's JSON: one benchmark a cell and segment, one run a launch, values in seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bench import seen
from bench.comparison import Sample
from bench.export.chosen import Chosen
from bench.report.figures import harmless

FORMAT = "1.0"
NS_PER_SECOND = 1e9


def render(chosen: Chosen) -> str:
    """A suite that `pyperf stats`, `hist` and `compare_to` read.

    Its t-test pools calls of different launches and finds differences where there are none:
    the file is for its tables and pictures, the verdict is ours.
    """
    benchmarks = [
        benchmark
        for cell, told in zip(chosen.cells, chosen.document["cells"], strict=True)
        for name, sample in seen.samples(cell)
        if (benchmark := _benchmark(told, name, sample))
    ]
    common = {"loops": 1, "unit": "second", **_host(chosen.document["host"])}
    suite = {"version": FORMAT, "metadata": common, "benchmarks": benchmarks}
    return json.dumps(suite, indent=1, allow_nan=False) + "\n"


def _benchmark(cell: Mapping[str, Any], segment: str, sample: Sample) -> dict[str, Any]:
    """Empty where no reading is left: pyperf refuses a benchmark without values above zero."""
    runs = [{"values": values} for values in _by_launch(sample)]
    if not runs:
        return {}
    metadata = {"name": harmless(f"{cell['cell']} {segment}"), **_cell(cell)}
    left_out = int((sample.values <= 0).sum())
    if left_out:
        metadata["mcp_zero_readings_left_out"] = left_out
    if len(sample.over):
        metadata["mcp_censored_readings_left_out"] = len(sample.over)
    return {"metadata": metadata, "runs": runs}


def _by_launch(sample: Sample) -> Iterator[list[float]]:
    for launch in np.unique(sample.round):
        mine = sample.values[(sample.round == launch) & (sample.values > 0)]
        if len(mine):
            yield [int(value) / NS_PER_SECOND for value in mine]


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    known = {
        "mcp_server": cell["server"],
        "mcp_transport": cell["transport"],
        "mcp_era": cell["era"],
        "mcp_protocol_version": cell["protocol_version"],
        "mcp_work_source": cell["work_source"],
        **{f"mcp_{key}": value for key, value in cell["variant"].items()},
    }
    cores = ",".join(str(core) for core in cell["placement"]["server"])
    return _texts({**known, "cpu_affinity": cores})


def _host(host: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the machine under pyperf's own names."""
    known = {**host.get("pyperf", {})}
    load = known.pop("load_avg_1min", None)
    known |= {"python_version": host.get("python"), "timer": _timer(host.get("clock", {}))}
    found = _texts(known)
    if load is not None:
        found["load_avg_1min"] = float(load)
    if host.get("cores"):
        found["cpu_count"] = host["cores"]
    return found


def _timer(clock: Mapping[str, Any]) -> str | None:
    if not clock:
        return None
    return f"{clock['name']}, resolution: {clock['resolution_s'] * NS_PER_SECOND:.0f} ns"


def _texts(known: Mapping[str, Any]) -> dict[str, Any]:
    """pyperf refuses a text that is empty or has an edge of blanks."""
    texts = {key: harmless(value).strip() for key, value in known.items() if value is not None}
    return {key: text for key, text in texts.items() if text}

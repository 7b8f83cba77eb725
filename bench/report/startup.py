"""The start-up audit as text: who makes the host wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.figures import shown
from bench.units import milliseconds


def render(document: Mapping[str, Any]) -> str:
    """A row a server, then what a host waits for all of them, and for which one."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    servers = document["servers"]
    width = max(len(shown(row["server"])) for row in servers)
    yield "from the start of a server until its tools are known (medians):"
    yield f"{'':<{width}}  {'alone':>9}  {'all at once':>11}"
    for row in servers:
        failed = f"   {row['failed']} failed: {shown(row['error'])}" if row["failed"] else ""
        yield (
            f"{shown(row['server']):<{width}}  {milliseconds(row['alone_ns']):>9}  "
            f"{milliseconds(row['together_ns']):>11}{failed}"
        )
    wait = document["wait"]
    yield (
        f"A host that starts them one after the other waits {milliseconds(wait['alone_ns'])}, "
        f"one that starts all at once {milliseconds(wait['together_ns'])}."
    )
    if document["slowest"] is not None:
        yield f"It is {shown(document['slowest'])} that makes it wait."

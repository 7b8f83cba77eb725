"""Every quantile that the samples of a run carry, one by one, by the name it has elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench.report.figures import harmless

CARRIED = ("p50", "p90", "p99")


class Quantile(NamedTuple):
    """One figure, ns; the interval (95 %) is there for a p50 whose sample has one."""

    name: str
    value_ns: int
    low_ns: int | None
    high_ns: int | None
    n: int
    launches: int


def of(document: Mapping[str, Any]) -> Iterator[Quantile]:
    """Cell by cell and segment by segment; what a sample does not carry is left out, never 0."""
    for cell in document["cells"]:
        for segment, figures in cell["segments"].items():
            for quantile in CARRIED:
                if figures[f"{quantile}_ns"] is not None:
                    yield _quantile(cell, segment, quantile)


def _quantile(cell: Mapping[str, Any], segment: str, quantile: str) -> Quantile:
    figures = cell["segments"][segment]
    middle = quantile == "p50"
    return Quantile(
        harmless(f"{cell['cell']} {segment} {quantile}"),
        figures[f"{quantile}_ns"],
        figures["low_ns"] if middle else None,
        figures["high_ns"] if middle else None,
        figures["n"],
        cell["launches"],
    )

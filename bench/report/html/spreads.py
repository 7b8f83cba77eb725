"""How the readings are spread, as outlines on a square of 100 by 100, from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from bench.report.html.axis import Axis, round_values
from bench.report.spreads import beyond
from bench.units import milliseconds


class Tick(NamedTuple):
    """A named place on an axis, in percent."""

    place: float
    text: str


class Area(NamedTuple):
    """How one cell is spread: where its readings lie, their share up to each value, the median."""

    label: str
    outline: str
    rising: str
    middle: float | None
    said: str


class Spread(NamedTuple):
    """How one segment is spread, all cells on one axis."""

    segment: str
    logarithmic: bool
    ticks: Sequence[Tick]
    areas: Sequence[Area]


def spreads(document: Mapping[str, Any], names: Mapping[str, str]) -> list[Spread]:
    """The counted readings of each segment."""
    figures = {cell["cell"]: cell["segments"] for cell in document["cells"]}
    return [_spread(each, figures, names) for each in document["spreads"]]


def _spread(
    spread: Mapping[str, Any], figures: Mapping[str, Any], names: Mapping[str, str]
) -> Spread:
    segment, edges = spread["segment"], spread["edges_ns"]
    axis = Axis(edges[0], edges[-1], spread["logarithmic"])
    ticks = [Tick(axis.of(value), milliseconds(value)) for value in round_values(axis)]
    places = [axis.of(edge) for edge in edges]
    areas = []
    for cell in spread["cells"]:
        median = figures[cell["cell"]].get(segment, {}).get("p50_ns")
        known = median is not None and axis.holds(median)
        middle = axis.of(median) if known else None
        areas.append(_area(cell, places, label=names[cell["cell"]], middle=middle))
    return Spread(segment, spread["logarithmic"], ticks, areas)


def _area(
    cell: Mapping[str, Any], places: Sequence[float], *, label: str, middle: float | None
) -> Area:
    counts = cell["counts"]
    most = max(counts) or 1
    steps = [
        f"{left:g},{100 - 100 * count / most:.4g} {right:g},{100 - 100 * count / most:.4g}"
        for (left, right), count in zip(pairwise(places), counts, strict=True)
    ]
    shares = [100 - 100 * below / cell["n"] for below in accumulate(counts, initial=0)]
    rising = [f"{place:g},{share:.4g}" for place, share in zip(places, shares, strict=True)]
    words = [f"n = {cell['n']:,}"]
    words += [beyond(cell["above"], cell["max_ns"])] if cell["above"] else []
    outline = " ".join(["0,100", *steps, "100,100"])
    return Area(label, outline, " ".join(rising), middle, "; ".join(words))

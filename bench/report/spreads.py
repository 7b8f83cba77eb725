"""How the calls of each cell are spread, in one line of letters each, all on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, Picture
from bench.units import NONE, milliseconds

HEIGHTS = "▁▂▃▄▅▆▇█"
LETTERS = 48
SHOWN = ("call",)


def spread_grids(spreads: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Grid]:
    """A table a segment: its axis in the head, a line of letters a cell, and what lies beyond."""
    for spread in spreads:
        if spread["segment"] in SHOWN:
            rows = [
                (names[cell["cell"]], line(cell["counts"]), _above(cell))
                for cell in spread["cells"]
            ]
            scale = ", on a logarithmic axis" if spread["logarithmic"] else ""
            title = (
                f"How a {spread['segment']} is spread (each cell's fullest part the same{scale})"
            )
            yield Grid(title, ("", axis(spread["edges_ns"]), "beyond"), rows, picture=Picture(1))


def line(counts: Sequence[int], *, width: int = LETTERS) -> str:
    """Counts as one line of `width` letters; the fullest is full, and none that has any is empty.

    Neighbouring counts are added up where there are more of them than letters.
    """
    step = max(1, -(-len(counts) // width))
    sums = [sum(counts[at : at + step]) for at in range(0, len(counts), step)]
    most = max(sums, default=0)
    return "".join(_letter(count, most) for count in sums).ljust(width)


def beyond(above: int, max_ns: int) -> str:
    """`7 above, max 37.6 ms`."""
    return f"{above:,} above, max {milliseconds(max_ns)}"


def axis(edges_ns: Sequence[int], *, width: int = LETTERS) -> str:
    """The ends of an axis at the ends of `width` letters."""
    low, high = milliseconds(edges_ns[0]), milliseconds(edges_ns[-1])
    return f"{low}{high:>{max(0, width - len(low))}}"


def _letter(count: int, most: int) -> str:
    if not count:
        return " "
    return HEIGHTS[max(0, -(-count * len(HEIGHTS) // most) - 1)]


def _above(cell: Mapping[str, Any]) -> str:
    return beyond(cell["above"], cell["max_ns"]) if cell["above"] else NONE

"""The comparisons as intervals around a line where nothing differs, each with its doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.report.figures import percent, shown
from bench.report.html.axis import Axis

LEAST = 1.1  # an axis shows at least a tenth more and less
MARGIN = 0.03


class Ratio(NamedTuple):
    """Head to base and its interval, in percent of the axis; what it says, and what to doubt."""

    label: str
    verdict: str
    place: float
    left: float
    width: float
    text: str
    doubts: Sequence[str]


class Ratios(NamedTuple):
    """The comparisons of one segment on one axis; `same` is where head and base are alike."""

    segment: str
    same: float
    rows: Sequence[Ratio]


def ratios(document: Mapping[str, Any], places: Mapping[str, str]) -> list[Ratios]:
    """Segment by segment: setups differ by other factors than calls do, so each has its axis."""
    found = [row for row in document["comparisons"] if row["ratio"] is not None]
    return [
        _segment(segment, [row for row in found if row["segment"] == segment], places)
        for segment in dict.fromkeys(row["segment"] for row in found)
    ]


def _segment(segment: str, found: Sequence[Mapping[str, Any]], places: Mapping[str, str]) -> Ratios:
    ends = [end for row in found for end in _interval(row)]
    low, high = min(1 / LEAST, *ends), max(LEAST, *ends)
    margin = (high / low) ** MARGIN
    axis = Axis(low / margin, high * margin, logarithmic=True)
    return Ratios(segment, axis.of(1), [_ratio(row, places[row["where"]], axis) for row in found])


def _ratio(row: Mapping[str, Any], where: str, axis: Axis) -> Ratio:
    base, head = (shown(value) for value in row["values"])
    left, right = (axis.of(end) for end in _interval(row))
    return Ratio(
        label=f"{where}: {head} against {base}".removeprefix(": "),
        verdict=row["verdict"],
        place=axis.of(row["ratio"]),
        left=left,
        width=round(right - left, 3),
        text=percent(row["ratio"]),
        doubts=list(_doubts(row)),
    )


def _doubts(row: Mapping[str, Any]) -> Iterator[str]:
    if row["low"] is None:
        yield "no interval"
    if row["also_differs"]:
        yield f"differs too: {', '.join(map(shown, row['also_differs']))}"
    if row["rounds"] < row["rounds_wanted"]:
        yield f"{row['rounds']} launches, and a verdict takes {row['rounds_wanted']}"
    seen = row["would_have_seen_percent"]
    if row["verdict"] in ("same", "cannot tell") and seen is not None:
        yield f"a shift of {seen:.2g} % would have been seen"


def _interval(row: Mapping[str, Any]) -> tuple[float, float]:
    return row["low"] or row["ratio"], row["high"] or row["ratio"]

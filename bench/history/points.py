"""One line of a history: a segment of a cell in one run, and the series it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

FORMAT = 1
# What is judged; the other segments are kept, for whoever looks for the reason.
CHECKED = (
    ("setup", "p50"),
    ("first_result", "p50"),
    ("call", "p50"),
    ("call", "p90"),
    ("work", "p50"),
    ("boundary", "p50"),
)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One segment of one cell of one run; times in UTC, figures in ns over all readings.

    `conditions` must be equal for two points to be compared; `versions` may differ, and explain.
    A quantile that the sample does not carry is None; with an `error` no figure counts.
    """

    format: int = FORMAT
    run: str
    added: str
    commit: str | None
    commit_time: str | None
    host_class: str
    conditions: Mapping[str, str]
    versions: Mapping[str, str]
    cell: str
    segment: str
    n: int
    launches: int
    p50_ns: int | None
    low_ns: int | None
    high_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    error: str | None = None

    def value_ns(self, quantile: str) -> int | None:
        """A quantile by its name; None where there is none that counts."""
        found: int | None = getattr(self, f"{quantile}_ns")
        return None if self.error else found


class Series(NamedTuple):
    """One quantile of one segment of a cell, over the runs that can be compared to the newest."""

    cell: str
    segment: str
    quantile: str
    points: Sequence[Point]
    values: Sequence[int]
    left_out: int
    apart: int


def newest(points: Sequence[Point]) -> list[Point]:
    """The points of the last run of each scenario; `points` are in order."""
    last = {_scenario(point): point.run for point in points}
    return [point for point in points if last[_scenario(point)] == point.run]


def series(points: Sequence[Point]) -> Iterator[Series]:
    """What the newest runs go on: per cell and checked figure, the points that are comparable."""
    tips = {(tip.cell, tip.segment): tip for tip in newest(points)}
    for cell in dict.fromkeys(tip.cell for tip in tips.values()):
        for segment, quantile in CHECKED:
            tip = tips.get((cell, segment))
            if tip is not None and tip.value_ns(quantile) is not None and _is_measured(tip):
                yield _series(points, tip, quantile)


def missing(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Cells that earlier runs of a scenario on this host class had, and the run that had them."""
    now = {point.cell for point in newest(points)}
    classes = {(_scenario(point), point.host_class) for point in newest(points)}
    gone = {
        point.cell: point.run
        for point in points
        if point.cell not in now and (_scenario(point), point.host_class) in classes
    }
    yield from gone.items()


def _series(points: Sequence[Point], tip: Point, quantile: str) -> Series:
    alike = [p for p in points if (p.cell, p.segment) == (tip.cell, tip.segment)]
    kept = [p for p in alike if (p.host_class, p.conditions) == (tip.host_class, tip.conditions)]
    there = [(p, value) for p in kept if (value := p.value_ns(quantile)) is not None]
    return Series(
        tip.cell,
        tip.segment,
        quantile,
        [point for point, _ in there],
        [value for _, value in there],
        len(kept) - len(there),
        len(alike) - len(kept),
    )


def _is_measured(point: Point) -> bool:
    """An estimate moves with the floor that it is made of."""
    return point.conditions.get("work_source") != "estimate"


def _scenario(point: Point) -> str:
    return point.cell.partition("/")[0]

"""What `doctor` found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.figures import shown
from bench.units import milliseconds


def render(document: Mapping[str, Any]) -> str:
    """Checks with what helps, then what placement does to a call of nothing."""
    return "\n".join([*_checks(document["checks"]), "", *_floors(document["floors"])]) + "\n"


def _checks(checks: list[Mapping[str, Any]]) -> Iterator[str]:
    for check in checks:
        mark = "ok  " if check["ok"] else "look"
        yield f"{mark}  {shown(check['name']):<20} {shown(check['value'])}"
        if not check["ok"] and check["advice"]:
            yield f"      {'':<20} {shown(check['advice'])}"


def _floors(floors: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "a call of nothing (no SDK, no tool), client and server placed"
    yield f"  {'':<6} {'':<32} {'p50':>9} {'p90':>9}   medians of launches differ by"
    for floor in floors:
        yield (
            f"  {shown(floor['transport']):<6} {shown(floor['placement']):<32} "
            f"{milliseconds(floor['p50_ns']):>9} {milliseconds(floor['p90_ns']):>9}   "
            f"{floor['spread']:.0%}"
        )

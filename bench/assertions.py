"""What a user asserts of a segment, `call.p99 < 5ms`: read, and held against a summary."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bench.by_step import SHOWN
from bench.errors import UsageError, nearest
from bench.segments import SETUP_NAMES

FIGURES = ("p50", "p90", "p99", "mean", "min", "max")
NS_PER: Mapping[str, int] = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
}
HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FORM = re.compile(r"\s*(\w+)\.(\w+)\s*(<=|>=|<|>)\s*([0-9.]+)\s*([a-zµ]*)\s*")


class Assertion(NamedTuple):
    """A segment, one of its figures, and the limit in ns that it keeps to."""

    text: str
    segment: str
    figure: str
    sign: str
    limit_ns: float


def read(text: str) -> Assertion:
    """The assertion in `text`; UsageError where a word is not known, or the unit is missing."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"--assert '{text}': say it as 'call.p99 < 5ms'")
    segment, figure, sign, value, unit = match.groups()
    known = (*SHOWN, *SETUP_NAMES, "floor")
    if segment not in known:
        raise UsageError(f"--assert '{text}': no segment \"{segment}\"{nearest(segment, known)}")
    if figure not in FIGURES:
        raise UsageError(f"--assert '{text}': no figure \"{figure}\"{nearest(figure, FIGURES)}")
    if unit not in NS_PER:
        raise UsageError(f"--assert '{text}': a limit has a unit: ns, us, ms or s")
    try:
        limit_ns = float(value) * NS_PER[unit]
    except ValueError as error:
        raise UsageError(f"--assert '{text}': \"{value}\" is no number") from error
    return Assertion(text.strip(), segment, figure, sign, limit_ns)


def held(assertion: Assertion, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a cell of a summary keeps to it; `ok` is None where it has no such figure."""
    found = cell["segments"].get(assertion.segment, {})
    value = found.get(f"{assertion.figure}_ns")
    ok = None if value is None else HOLDS[assertion.sign](value, assertion.limit_ns)
    return {"assert": assertion.text, "value_ns": value, "ok": ok, "wants": found.get("wants")}

"""How a duration reads: the one place where nanoseconds become other units."""

from __future__ import annotations

NONE = "·"


def milliseconds(value_ns: float | None) -> str:
    """Three significant digits with the unit: `0.481 ms`, `12.3 µs`, `1.25 s`."""
    if value_ns is None:
        return NONE
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value_ns) >= scale or (unit == "ms" and abs(value_ns) >= 1e5):
            return f"{digits(value_ns / scale)} {unit}"
    return f"{value_ns:.0f} ns"


def digits(value: float) -> str:
    """Three significant digits, and no rounding up into a fourth."""
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"

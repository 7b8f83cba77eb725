"""How one figure in a table reads, with its unit, and how a server's word is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.units import NONE, digits, milliseconds

SHOWN_LETTERS, SAID_LETTERS = 400, 2_000
FAR = 3  # from threefold on a ratio is said as a factor


class Picture(NamedTuple):
    """The column of a table that is drawn in letters, and the segment of each letter."""

    column: int
    parts: Mapping[str, str] = {}


class Grid(NamedTuple):
    """A table as text: a title, a head, rows of cells, and notes below."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    picture: Picture | None = None


class Page(NamedTuple):
    """What a report says, for every format: a headline, tables, findings and doubts."""

    headline: str
    grids: Sequence[Grid] = ()
    findings: Sequence[str] = ()
    doubts: Sequence[str] = ()


def percent(ratio: float) -> str:
    """A ratio as a change: 1.021 is `+2.1 %`; from threefold on it is said as a factor."""
    return _factor(ratio) if _is_far(ratio) else _change(ratio)


def percents(low: float | None, high: float | None) -> str:
    """The ends of an interval of a ratio, on one scale: `+1.2 % to +3.0 %`, `÷ 3.13 to ÷ 2.33`."""
    if low is None or high is None:
        return NONE
    say = _factor if _is_far(low) or _is_far(high) else _change
    return f"{say(low)} to {say(high)}"


def _is_far(ratio: float) -> bool:
    return ratio >= FAR or ratio <= 1 / FAR


def _factor(ratio: float) -> str:
    return f"× {digits(ratio)}" if ratio >= 1 else f"÷ {digits(1 / ratio)}"


def _change(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def shown(text: object) -> str:
    """A server's words made harmless to look at, and bounded in length."""
    safe = harmless(text)
    return safe if len(safe) <= SHOWN_LETTERS else f"{safe[: SHOWN_LETTERS - 1]}…"


def harmless(text: object) -> str:
    """Control and formatting characters (ANSI, right-to-left marks) escaped, line ends too."""
    words = str(text)
    if words.isprintable():
        return words
    return "".join(_escaped(each) if _is_hidden(each) else each for each in words)


def said(error: object) -> str:
    """Words of ours that quote a server's: lines stay lines, each of them bounded."""
    lines = (harmless(line) for line in str(error).split("\n"))
    return "\n".join(
        line if len(line) <= SAID_LETTERS else f"{line[: SAID_LETTERS - 1]}…" for line in lines
    )


def _is_hidden(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return kind[0] == "C" or kind in ("Zl", "Zp")


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def interval(low_ns: float | None, high_ns: float | None) -> str:
    """`0.47 – 0.49 ms`; the unit is said once where it is the same."""
    if low_ns is None or high_ns is None:
        return NONE
    low, high = milliseconds(low_ns), milliseconds(high_ns)
    value, _, unit = low.partition(" ")
    return f"{value if high.endswith(' ' + unit) else low} – {high}"

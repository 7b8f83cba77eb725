"""The ledgers as bars: each part its stretch of the axis in percent, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from bench.report.bars import sentence
from bench.spread import WIDE
from bench.units import milliseconds


class Part(NamedTuple):
    """A stretch of a bar, in percent of its axis, and what it says when it is pointed at."""

    name: str
    left: float
    width: float
    text: str


class Bar(NamedTuple):
    """The ledger of one cell."""

    label: str
    total: str
    parts: Sequence[Part]
    said: str = ""


class Ledgers(NamedTuple):
    """The bars of all cells; where they do not share an axis, each one fills its own."""

    bars: Sequence[Bar]
    shared: bool

    @property
    def names(self) -> list[str]:
        """The parts that any of them has."""
        return list(dict.fromkeys(part.name for bar in self.bars for part in bar.parts))


def ledgers(document: Mapping[str, Any], whole: str, names: Mapping[str, str]) -> Ledgers:
    """The typical `call` or `setup` of each cell that has one, on one axis where that can be."""
    cells = [cell for cell in document["cells"] if cell["ledger"][whole]]
    totals = [cell["ledger"][whole][whole] for cell in cells]
    longest = max(totals, default=0)
    shared = longest < WIDE * min(totals, default=0)
    bars = [
        Bar(
            names[cell["cell"]],
            milliseconds(total),
            _parts(cell["ledger"][whole], whole, longest if shared else total),
            sentence(cell) if whole == "call" else "",
        )
        for cell, total in zip(cells, totals, strict=True)
    ]
    return Ledgers(bars, shared)


def _parts(ledger: Mapping[str, int], whole: str, longest_ns: int) -> list[Part]:
    parts = {name: value for name, value in ledger.items() if name != whole}
    percent = 100 / max(1, longest_ns)
    return [
        Part(
            name,
            round((end - value) * percent, 3),
            round(value * percent, 3),
            f"{name} {milliseconds(value)}, {_share(value / max(1, ledger[whole]))}",
        )
        for (name, value), end in zip(parts.items(), accumulate(parts.values()), strict=True)
    ]


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "under 1%"

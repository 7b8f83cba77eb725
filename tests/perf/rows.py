"""What programs that measure this program say: a table of figures against their targets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """One figure, at most `target` where all is well; None, with words, where there is none."""

    name: str
    value: float | None
    target: float
    words: str = ""

    @property
    def ok(self) -> bool:
        """Whether the figure was measured and keeps to its target."""
        return self.value is not None and self.value <= self.target


def main(about: str, measure: Callable[[], Iterable[Row]]) -> int:
    """Measure and show, as a table or with `--json`; 1 where a row misses its target."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--quick", action="store_true", help="less of it, where there is less")
    as_json = parser.parse_args().json
    rows = []
    for row in measure():
        rows.append(row)
        if not as_json:
            print(_line(row), flush=True)
    if as_json:
        print(json.dumps({"rows": [_plain(row) for row in rows]}, indent=1))
    return 0 if all(row.ok for row in rows) else 1


def _line(row: Row) -> str:
    figure = "-" if row.value is None else f"{row.value:.4g}"
    verdict = "ok" if row.ok else "MISSED"
    words = f"  ({row.words})" if row.words else ""
    return f"{row.name:<58} {figure:>6} of {row.target:<5g} {verdict}{words}"


def _plain(row: Row) -> Mapping[str, object]:
    value = None if row.value is None else round(row.value, 4)
    plain = {"name": row.name, "value": value, "target": row.target, "ok": row.ok}
    return {**plain, "words": row.words} if row.words else plain

"""The tables and sentences of `compare`: what changed, what else differs, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, Page, percent, percents, shown
from bench.report.wording import comparison_grids, labels
from bench.units import NONE, milliseconds

WORTH_SAYING = ("slower", "faster")


def page(document: Mapping[str, Any]) -> Page:
    """The whole comparison; two factors at once leave no headline but the table."""
    return Page(
        f"{document['verdict'].upper()} · {_headline(document)}",
        tuple(_grids(document)),
        tuple(_findings(document)),
        tuple(shown(each) for each in document["reasons"]),
    )


def _headline(document: Mapping[str, Any]) -> str:
    base, head = (document[side] for side in ("base", "head"))
    if document["interleaved"]:
        return f"{shown(base['run'])} along {document['axis']}, launch by launch"
    ends = {"complete": ""}
    names = [
        shown(each["run"]) + ends.get(each["status"], f" ({each['status']})")
        for each in (base, head)
    ]
    return f"{names[1]} against {names[0]}"


def _grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    rows = document["comparisons"]
    if document["interleaved"]:
        names = labels(sorted({each[side] for each in rows for side in ("base", "head")}))
        yield from comparison_grids(rows, names)
        return
    if rows:
        yield _figures(rows)
    differs = [each for each in document["differs"] if each["weight"] != "noted"]
    noted = [each for each in document["differs"] if each["weight"] == "noted"]
    for title, found in (("Differs", differs), ("Differs, and may be the reason", noted)):
        if found:
            cells = [
                (shown(each["what"]), *(shown(each[side] or NONE) for side in ("base", "head")))
                for each in found
            ]
            yield Grid(title, ("", "base", "head"), cells)


def _figures(rows: Sequence[Mapping[str, Any]]) -> Grid:
    names = labels(list(dict.fromkeys(each["head"] for each in rows)))
    columns = ("", "segment", "", "base", "head", "change", "95 % interval", "verdict", "seen from")
    cells = [
        (
            names[each["head"]],
            each["segment"],
            each["quantile"],
            milliseconds(each["base_ns"]),
            milliseconds(each["head_ns"]),
            percent(each["ratio"]),
            percents(each["low"], each["high"]),
            each["verdict"],
            _seen(each["would_have_seen_percent"]),
        )
        for each in rows
    ]
    return Grid("Head against base, medians of launches", columns, cells)


def _findings(document: Mapping[str, Any]) -> Iterator[str]:
    if document["interleaved"]:
        return
    rows = document["comparisons"]
    names = labels(list(dict.fromkeys(each["head"] for each in rows)))
    for each in rows:
        if each["verdict"] in WORTH_SAYING:
            between = percents(each["low"], each["high"])
            yield (
                f"{names[each['head']]}: {each['segment']} {each['quantile']} is "
                f"{each['verdict']}, {percent(each['ratio'])} ({between})"
            )
    factors = document["factors"]
    if len(factors) == 1:
        yield f"one factor differs, and the change is its own: {factors[0]}"


def _seen(value_percent: float | None) -> str:
    return NONE if value_percent is None else f"{value_percent:.1f} %"

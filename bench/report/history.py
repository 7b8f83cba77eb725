"""The history as text: each series as a line of bars, its verdict, and what changed with a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, Page, percent, shown
from bench.report.wording import labels
from bench.units import NONE, milliseconds

BARS = "▁▂▃▄▅▆▇█"
STEP = "│"
MOST_BARS = 40
LEAST_SPAN = 0.1  # of the median: noise of a percent is no mountain
HASH_LETTERS = 9


def added(document: Mapping[str, Any]) -> Page:
    """What `history add` did."""
    of = f" of {_commit(document)}" if document["commit"] else " (of no commit that git tells)"
    count = document["runs_before"]
    before = f"{count} runs before it" if count else "no baseline yet"
    return Page(
        f"{shown(document['run'])}{of}: {document['lines']} lines added to {document['file']}",
        findings=[f"{document['host_class']}: {before}"],
        doubts=[f"{shown(cell)} failed, and is kept as failed" for cell in document["failed"]],
    )


def checked(document: Mapping[str, Any]) -> Page:
    """The verdicts of `history check`."""
    newest = ", ".join(f"{shown(each['run'])}{_at(each)}" for each in document["newest"])
    return Page(
        f"{document['verdict'].upper()} · {newest}",
        (_verdicts(document["series"]),) if document["series"] else (),
        tuple(_findings(document["series"])),
        tuple(_doubts(document)),
    )


def drawn(document: Mapping[str, Any]) -> Page:
    """The series of `history show`."""
    series = document["series"]
    names = labels([each["cell"] for each in series])
    rows = [
        (
            names[each["cell"]],
            each["segment"],
            each["quantile"],
            course(each),
            milliseconds(min(point["value_ns"] for point in each["course"])),
            milliseconds(max(point["value_ns"] for point in each["course"])),
            milliseconds(each["course"][-1]["value_ns"]),
            f"{each['points']:,}",
        )
        for each in series
    ]
    columns = ("", "segment", "", "oldest to newest", "lowest", "highest", "newest", "runs")
    hosts = ", ".join(sorted({each["host_class"] for each in series}))
    grid = Grid("Each bar a run; │ where a level begins", columns, rows)
    return Page(
        f"{document['file']} · {hosts or 'nothing to show'}",
        (grid,) if rows else (),
        tuple(_findings(series)),
        tuple(_doubts(document)),
    )


def course(series: Mapping[str, Any]) -> str:
    """The points as bars from the lowest to the highest; where a level begins, a line."""
    points = series["course"]
    values = [point["value_ns"] for point in points]
    low, high = min(values), max(values)
    span = max(high - low, LEAST_SPAN * sorted(values)[len(values) // 2], 1)
    floor = low if high - low >= span else (low + high - span) / 2
    begins = {step["run"] for step in series["steps"]}
    together = math.ceil(len(points) / MOST_BARS)
    text = ""
    for at in range(0, len(points), together):
        group = points[at : at + together]
        text += STEP if any(point["run"] in begins for point in group) else ""
        middle = sorted(point["value_ns"] for point in group)[(len(group) - 1) // 2]
        text += BARS[min(len(BARS) - 1, int(len(BARS) * (middle - floor) / span))]
    return text


def _verdicts(series: Sequence[Mapping[str, Any]]) -> Grid:
    names = labels([each["cell"] for each in series])
    columns = (
        "",
        "segment",
        "",
        "oldest to newest",
        "now",
        "change",
        "verdict",
        "seen from",
        "runs",
    )
    rows = [
        (
            names[each["cell"]],
            each["segment"],
            each["quantile"],
            course(each),
            milliseconds(each["now_ns"]),
            percent(each["ratio"]) if each["kind"] else NONE,
            each["verdict"],
            _seen(each),
            f"{each['points']:,}",
        )
        for each in series
    ]
    return Grid("The newest run against its history", columns, rows)


def _seen(each: Mapping[str, Any]) -> str:
    value = each["would_have_seen_percent"]
    return NONE if value is None else f"{value:.1f} %"


def _findings(series: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = labels([each["cell"] for each in series])
    for each in series:
        name = f"{names[each['cell']]} {each['segment']} {each['quantile']}"
        if each["kind"] == "creep":
            yield (
                f"{name}: {each['verdict']}, a creep: {percent(each['ratio'])} over "
                f"{len(each['course'])} runs since {_commit(each['since'])}, "
                f"{milliseconds(each['base_ns'])} to {milliseconds(each['now_ns'])}, "
                "and no single commit made it"
            )
        for step in each["steps"]:
            changed = "; with it changed: " + ", ".join(step["changed"]) if step["changed"] else ""
            yield (
                f"{name}: a step of {percent(step['ratio'])} at {_commit(step)}, "
                f"after {_commit(step['after'])}{shown(changed)}"
            )


def _doubts(document: Mapping[str, Any]) -> Iterator[str]:
    series = document["series"]
    yield from (shown(each) for each in document["problems"])
    few = [each for each in series if each["wants"]]
    if few:
        wants = max(each["wants"] for each in few)
        yield f"{len(few)} series have too few points: {wants} more runs are needed for a verdict"
    noisy = [each for each in series if each["verdict"] == "cannot tell" and not each["wants"]]
    if noisy:
        names = ", ".join(dict.fromkeys(f"{each['segment']} {each['quantile']}" for each in noisy))
        yield f"too noisy to judge: {names}; try: run --launches with more, on a quieter machine"
    apart = max((each["measured_otherwise"] for each in series), default=0)
    if apart:
        yield f"up to {apart} older points were measured otherwise: another host, place or question"
    left = max((each["left_out"] for each in series), default=0)
    if left:
        yield f"up to {left} points of failed runs are left out"
    if document["torn"]:
        yield "half a line at the end of the file was left out"


def _at(each: Mapping[str, Any]) -> str:
    return f" ({_commit(each)})" if each["commit"] else ""


def _commit(each: Mapping[str, Any]) -> str:
    """Its commit, short; of no commit, its run."""
    return shown((each["commit"] or "")[:HASH_LETTERS] or each["run"])


PAGES: Mapping[str, Callable[[Mapping[str, Any]], Page]] = {
    "add": added,
    "check": checked,
    "show": drawn,
}

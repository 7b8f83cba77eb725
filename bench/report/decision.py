"""What `ab` and `aa` found, in tables and plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.figures import NONE, Grid, Page, milliseconds, percent, shown

VERDICTS: Mapping[str, str] = {
    "slower": "SLOWER",
    "faster": "faster",
    "same": "same",
    "cannot tell": "cannot tell",
}


def page(document: Mapping[str, Any]) -> Page:
    """The whole of `ab`."""
    doubts = [shown(each) for each in document["warnings"]]
    if not document["valid"]:
        doubts.append("calls failed, so this decides nothing; try: trace, which shows what is said")
    return Page(headline(document), tuple(grids(document)), (), tuple(doubts))


def certificate(document: Mapping[str, Any]) -> Page:
    """The whole of `aa`."""
    title = f"{shown(document['host_class'])}: what this machine can tell apart"
    return Page(title, tuple(certificate_grids(document)), (), ())


def headline(document: Mapping[str, Any]) -> str:
    """Both sides, and what came of it."""
    return (
        f"{shown(document['head'])} against {shown(document['base'])}: "
        f"{VERDICTS[document['verdict']]}, after {document['blocks']} blocks"
    )


def grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    """One line a metric, and one an assertion."""
    rows = [_row(metric) for metric in document["metrics"]]
    head = ("", "head to base", "95 % interval", "verdict", "would have seen", "noise of a block")
    yield Grid("Block by block, both alive at once", head, rows, list(sentences(document)))
    if document["assertions"]:
        held = [_held(each) for each in document["assertions"]]
        yield Grid("Asserted of head", ("", "measured", "holds"), held)


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """What got slower and by how much; what cannot be told, and how many blocks would tell it."""
    for metric in document["metrics"]:
        name, ratio = _name(metric), percent(metric["ratio"])
        if metric["verdict"] in ("slower", "faster"):
            yield f"{name} got {metric['verdict']}: {ratio} ({_interval(metric)})"
        elif metric["verdict"] == "cannot tell":
            yield (
                f"{name}: {ratio} ({_interval(metric)}) cannot be told from no change; "
                f"about {metric['blocks_wanted']} blocks would; try: --max-blocks"
            )
    if document["verdict"] == "same" and document["metrics"]:
        seen = max(metric["would_have_seen_percent"] or 0.0 for metric in document["metrics"])
        yield f"nothing changed by {document['min_effect_percent']:g} % or more; " + (
            f"a change of {seen:.1f} % would have been seen in 9 of 10 runs, whatever the figure"
        )
    if not document["metrics"]:
        yield "nothing was compared: too few blocks, or no segment that both sides have"
    quoted = document.get("machine")
    if quoted:
        yield (
            f"this machine against itself ({quoted['blocks']} blocks): false alarms in "
            f"{quoted['suite_percent']:.1f} % of comparisons, calls differ by "
            f"{quoted['call_noise_percent']:.2f} % from block to block"
        )


def certificate_grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    """What `aa` found of a machine."""
    rows = [
        (
            _name(metric),
            f"{metric['noise_percent']:.2f} %",
            _percent(metric["detectable_percent"]),
            f"{metric['false_alarm_percent']:.2f} %",
            f"{metric['low_percent']:.2f} to {metric['high_percent']:.2f} %",
        )
        for metric in document["metrics"]
    ]
    head = ("", "noise of a block", "found in 9 of 10", "false alarms", "95 % interval")
    yield Grid(
        f"{shown(document['target'])} against itself, {document['blocks']} blocks",
        head,
        rows,
        [
            f"false alarms: of {document['comparisons']:,} comparisons of "
            f"{document['per_comparison']} blocks drawn from these, either side being base by the "
            "toss of a coin",
            f"any figure of a comparison: {document['suite_percent']:.2f} % "
            f"({document['suite_low_percent']:.2f} to {document['suite_high_percent']:.2f} %)",
        ],
    )


def _row(metric: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _name(metric),
        percent(metric["ratio"]),
        _interval(metric),
        metric["verdict"],
        _percent(metric["would_have_seen_percent"]),
        f"{metric['noise_percent']:.2f} %",
    )


def _held(each: Mapping[str, Any]) -> tuple[str, ...]:
    if each["ok"] is None:
        wants = f"too few calls: it takes {each['wants']}" if each["wants"] else "not measured"
        return shown(each["assert"]), wants, "cannot tell"
    return shown(each["assert"]), milliseconds(each["value_ns"]), "yes" if each["ok"] else "NO"


def _name(metric: Mapping[str, Any]) -> str:
    return f"{metric['segment']} {metric['quantile']}"


def _interval(metric: Mapping[str, Any]) -> str:
    if metric["low"] is None or metric["high"] is None:
        return NONE
    return f"{percent(metric['low'])} to {percent(metric['high'])}"


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f} %"

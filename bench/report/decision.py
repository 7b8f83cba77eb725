"""What `ab` and `aa` found, in tables and plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.figures import Grid, Page, percent, percents, shown
from bench.units import NONE, milliseconds

TOO_MANY = 20  # times as many blocks: more patience than anyone has

VERDICTS: Mapping[str, str] = {
    "slower": "SLOWER",
    "faster": "faster",
    "same": "same",
    "cannot tell": "cannot tell",
}


def page(document: Mapping[str, Any]) -> Page:
    """The whole of `ab`: one line a figure, then in a sentence what got slower and by how much."""
    return Page(
        headline(document),
        tuple(grids(document)),
        tuple(findings(document)),
        tuple(doubts(document)),
    )


def certificate(document: Mapping[str, Any]) -> Page:
    """The whole of `aa`."""
    title = f"{shown(document['host_class'])}: what this machine can tell apart"
    grids = tuple(certificate_grids(document))
    return Page(title, grids, tuple(_certified(document)), tuple(doubts(document)))


def doubts(document: Mapping[str, Any]) -> Iterator[str]:
    """What forbids a verdict, and what else a reader should know."""
    if not document["valid"]:
        yield "calls failed, so this decides nothing; try: trace, which shows what is said"
    if document.get("failed"):
        yield shown(document["failed"])
    elif document["status"] != "complete":
        yield f"{document['status']}: broken off, so there is no verdict; figures are what there is"
    yield from (shown(each) for each in document["warnings"])


def headline(document: Mapping[str, Any]) -> str:
    """Both sides, and what came of it."""
    return (
        f"{shown(document['head'])} against {shown(document['base'])}: "
        f"{VERDICTS[document['verdict']]}, after {document['blocks']} blocks"
    )


def grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    """One line a metric, and one an assertion."""
    if document["metrics"]:
        rows = [_row(metric) for metric in document["metrics"]]
        head = (
            "",
            "base",
            "head",
            "change",
            "95 % interval",
            "verdict",
            "would have seen",
            "noise",
        )
        yield Grid("Block by block, both alive at once", head, rows)
    if document["assertions"]:
        held = [_held(each) for each in document["assertions"]]
        yield Grid("Asserted of head", ("", "measured", "holds"), held)


def findings(document: Mapping[str, Any]) -> Iterator[str]:
    """What got slower or faster and by how much; what cannot be told; what is known beside."""
    for verdict in ("slower", "faster"):
        changed = [metric for metric in document["metrics"] if metric["verdict"] == verdict]
        if changed:
            yield f"head is {verdict}: {', '.join(map(_change, changed))}"
    if document["valid"] and document["status"] == "complete":
        yield from _untold(document)
    if document["verdict"] == "same":
        seen = max(metric["would_have_seen_percent"] or 0.0 for metric in document["metrics"])
        yield f"nothing changed by {document['min_effect_percent']:g} % or more; " + (
            f"a change of {seen:.1f} % would have been seen in 9 of 10 runs, whatever the figure"
        )
    if not document["metrics"]:
        yield "nothing was compared: too few blocks, or no segment that both sides have"
    broken = [each["assert"] for each in document["assertions"] if each["ok"] is False]
    if broken:
        yield f"head does not keep to {', '.join(map(shown, broken))}"
    if quoted := document.get("machine"):
        yield (
            f"such a machine against itself ({shown(quoted['target'])}, {quoted['made'][:10]}, "
            f"{quoted['blocks']} blocks): false alarms in {quoted['suite_percent']:.1f} % of "
            "comparisons" + _noise_quoted(quoted)
        )


def _noise_quoted(quoted: Mapping[str, Any]) -> str:
    noise = quoted["call_noise_percent"]
    return "" if noise is None else f", calls differ by {noise:.2f} % from block to block"


def _untold(document: Mapping[str, Any]) -> Iterator[str]:
    """All that cannot be told in one sentence, and what would tell it."""
    untold = [each for each in document["metrics"] if each["verdict"] == "cannot tell"]
    if not untold:
        return
    names = ", ".join(_name(each) for each in untold)
    if document["verdict"] == "slower":
        yield f"beside that, cannot be told: {names}"
        return
    fewest = document["fewest_blocks"]
    if document["blocks"] < fewest:
        yield (
            f"{document['blocks']} blocks are too few to show anything in "
            f"{len(document['metrics'])} figures: it takes {fewest}; try: --blocks {fewest}"
        )
        return
    wanted = max(each["blocks_wanted"] for each in untold)
    more = wanted - document["blocks"]
    said = f"cannot be told: {names}; about {more:,} more blocks would"
    if wanted > TOO_MANY * document["blocks"]:
        yield f"{said}, so it is too noisy here: end what else runs, and see: mcp-latency doctor"
    else:
        yield f"{said}; try: --max-blocks {wanted}"


def _change(metric: Mapping[str, Any]) -> str:
    """`call p50 by +3.1 % (+2.4 % to +3.8 %), from 1.23 ms to 1.27 ms`."""
    times = ""
    if metric["base_ns"] is not None:
        times = f", from {milliseconds(metric['base_ns'])} to {milliseconds(metric['head_ns'])}"
    between = percents(metric["low"], metric["high"])
    return f"{_name(metric)} by {percent(metric['ratio'])} ({between}){times}"


def certificate_grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    """What `aa` found of a machine."""
    rows = [
        (
            _name(metric),
            f"{metric['noise_percent']:.2f} %",
            f"{percent(metric['ratio'])} ({percents(metric['low'], metric['high'])})",
            f"{metric['false_alarm_percent']:.2f} %",
            f"{metric['low_percent']:.2f} to {metric['high_percent']:.2f} %",
            _percent(metric["detectable_percent"]),
        )
        for metric in document["metrics"]
    ]
    head = (
        "",
        "noise of a block",
        "one side to the other",
        "false alarms",
        "95 % interval",
        "found in 9 of 10",
    )
    yield Grid(
        f"{shown(document['target'])} against itself, {document['blocks']} blocks", head, rows
    )


def _certified(document: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"false alarms: of {document['comparisons']:,} comparisons of "
        f"{document['per_comparison']} blocks drawn from these, either side being base by the "
        "toss of a coin; intervals by resampling the blocks"
    )
    yield (
        f"any figure of a comparison: {document['suite_percent']:.2f} % "
        f"({document['suite_low_percent']:.2f} to {document['suite_high_percent']:.2f} %)"
    )


def _row(metric: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _name(metric),
        milliseconds(metric["base_ns"]),
        milliseconds(metric["head_ns"]),
        percent(metric["ratio"]),
        percents(metric["low"], metric["high"]),
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


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f} %"

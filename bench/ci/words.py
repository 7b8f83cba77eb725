"""A verdict as Markdown for a step summary or a comment: the sentence first, then the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import NONE, percent
from bench.report.markdown import plain

ICONS: Mapping[str, str] = {"slower": "🔴", "faster": "🟢", "same": "🟢", "cannot tell": "🟡"}
CUT = "\n\n… cut\n"


def summary(verdict: Mapping[str, Any]) -> str:
    """The document of `ab --json` as Markdown."""
    said = verdict["verdict"]
    lines = [f"### {ICONS.get(said, '')} mcp-latency: {plain(said)}", "", *_sentences(verdict), ""]
    lines += ["| | head against base | 95 % interval | verdict | seen in 9 of 10 |"]
    lines += ["|---|---:|---:|---|---:|", *map(_row, verdict["metrics"])]
    failed = [each for each in verdict.get("assertions", ()) if not each["ok"]]
    if failed:
        lines += ["", *(f"- assertion failed: {plain(each['text'])}" for each in failed)]
    noise = verdict.get("noise_percent")
    floor = f", noise floor {noise:g} %" if noise is not None else ""
    return "\n".join([*lines, "", f"{verdict['blocks']} blocks of fresh pairs{floor}.", ""])


def failure(code: int, last_words: Sequence[str]) -> str:
    """What to say where there is no verdict."""
    lines = ["### 🔴 mcp-latency: no verdict", "", f"The comparison ended with status {code}.", ""]
    return "\n".join([*lines, *(f"> {plain(line)}  " for line in last_words), ""])


def bounded(text: str, most_bytes: int) -> str:
    """The text, cut at a line where it has more bytes."""
    if len(text.encode()) <= most_bytes:
        return text
    kept = text.encode()[: most_bytes - len(CUT.encode())].decode(errors="ignore")
    return kept.rpartition("\n")[0] + CUT


def _sentences(verdict: Mapping[str, Any]) -> Iterator[str]:
    if not verdict["metrics"]:
        yield "Nothing was compared."
    for metric in verdict["metrics"]:
        if metric["verdict"] in ("slower", "faster"):
            name = f"{metric['segment']} {metric['quantile']}"
            yield f"**{plain(name)}** is {metric['verdict']}: {_change(metric)}.  "
        elif metric["verdict"] == "cannot tell" and metric.get("wants_blocks"):
            name = f"{metric['segment']} {metric['quantile']}"
            yield f"{plain(name)}: cannot tell; about {metric['wants_blocks']} blocks could.  "


def _change(metric: Mapping[str, Any]) -> str:
    return NONE if metric["ratio"] is None else percent(metric["ratio"])


def _row(metric: Mapping[str, Any]) -> str:
    low, high, visible = (metric.get(k) for k in ("low", "high", "would_have_seen_percent"))
    interval = NONE if low is None or high is None else f"{percent(low)} to {percent(high)}"
    cells = [
        f"{metric['segment']} {metric['quantile']}",
        _change(metric),
        interval,
        metric["verdict"],
        NONE if visible is None else f"{visible:g} %",
    ]
    return f"| {' | '.join(map(plain, cells))} |"

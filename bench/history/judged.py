"""Every series of a history with its verdict, and what keeps the newest run from being judged."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench import store
from bench.history import levels, points
from bench.history.levels import Looked
from bench.history.points import Point, Series
from bench.stats import Verdict, rank_quantile

WINDOW = 60  # points in which a step is looked for
LONGEST = 1000  # points over which a creep is
ANCHOR = 10  # points at either end whose medians say how far a creep has come
TOO_NOISY_PERCENT = 25.0
ORDER: tuple[Verdict, ...] = ("slower", "cannot tell", "faster", "same")


def document(history: Sequence[Point], cell: str | None = None) -> dict[str, Any]:
    """The document of `history check`: of all cells, or of one; `history` is in order.

    The verdict is the worst of all series. A cell that is missing or failed in the newest run of
    its scenario cannot be told.
    """
    chosen = [one for one in points.series(history) if cell in (None, one.cell)]
    series = [_judged(one, len(chosen)) for one in chosen]
    problems = [words for name, words in _problems(history) if cell in (None, name)]
    verdicts = {each["verdict"] for each in series} | ({"cannot tell"} if problems else set())
    tips = {point.run: point for point in points.newest(history)}
    return {
        "format": store.FORMAT,
        "verdict": next((verdict for verdict in ORDER if verdict in verdicts), "cannot tell"),
        "newest": [{**_who(tip), "host_class": tip.host_class} for tip in tips.values()],
        "series": series,
        "problems": problems,
    }


def _judged(one: Series, judged: int) -> dict[str, Any]:
    looked, first = _look(one.values, judged)
    values, seen = one.values[first:], one.points[first:]
    since, base, now = _ends(values, looked)
    ratio = levels.change(base, now) if len(values) >= levels.FEWEST else None
    seen_percent = levels.detectable(looked, len(values))
    return {
        "cell": one.cell,
        "segment": one.segment,
        "quantile": one.quantile,
        "host_class": one.points[-1].host_class,
        "points": len(one.values),
        "wants": max(0, levels.FEWEST - len(one.values)),
        "left_out": one.left_out,
        "measured_otherwise": one.apart,
        "verdict": _verdict(ratio, looked, seen_percent),
        "kind": looked.kind,
        "ratio": None if ratio is None else round(ratio, 4),
        "base_ns": rank_quantile(base, 0.5),
        "now_ns": rank_quantile(now, 0.5),
        "since": _who(seen[since]) if looked.kind else None,
        "steps": [*_steps(seen, values, looked.starts)],
        "noise_percent": None if ratio is None else round(100 * looked.noise, 2),
        "would_have_seen_percent": None if seen_percent is None else round(seen_percent, 1),
        "course": [{**_who(p), "value_ns": ns} for p, ns in zip(seen, values, strict=True)],
    }


def _look(values: Sequence[int], judged: int) -> tuple[Looked, int]:
    """The last points, unless a creep is seen over all of them; and where those begin."""
    whole, recent = values[-LONGEST:], values[-WINDOW:]
    looked = levels.look(recent, judged=judged)
    if len(whole) > len(recent) and looked.kind != "creep":
        long = levels.look(whole, judged=judged)
        if long.kind == "creep":
            return long, len(values) - len(whole)
    return looked, len(values) - len(recent)


def _ends(values: Sequence[int], looked: Looked) -> tuple[int, Sequence[int], Sequence[int]]:
    """Since which point there is a change, what came before it, and the present.

    Of several levels before the present one the lowest that is surely another: who got slower
    after a gain did get slower. A gain is one against the lowest of all, so that a level that was
    left again is neither. Of a creep it is both ends.
    """
    if looked.kind == "creep":
        return 0, values[:ANCHOR], values[-ANCHOR:]
    *earlier, now = levels.levels(values, looked.starts)
    if not earlier:
        return 0, now, now
    last = len(earlier) - 1
    sure = [at for at in range(last) if levels.apart(earlier[at], now, looked)]
    medians = [rank_quantile(part, 0.5) for part in earlier]
    base = min((*sure, last), key=medians.__getitem__)
    if rank_quantile(now, 0.5) < medians[base]:
        base = min(range(len(earlier)), key=medians.__getitem__)
    return looked.starts[base], earlier[base], now


def _verdict(ratio: float | None, looked: Looked, seen_percent: float | None) -> Verdict:
    if ratio is None:
        return "cannot tell"
    if looked.kind is not None and ratio >= 1 + levels.MIN_EFFECT:
        return "slower"
    if looked.kind is not None and ratio <= 1 / (1 + levels.MIN_EFFECT):
        return "faster"
    noisy = seen_percent is None or seen_percent > TOO_NOISY_PERCENT
    return "cannot tell" if noisy and looked.kind is None else "same"


def _steps(
    seen: Sequence[Point], values: Sequence[int], starts: Sequence[int]
) -> Iterator[dict[str, Any]]:
    for (before, after), start in zip(pairwise(levels.levels(values, starts)), starts, strict=True):
        yield {
            **_who(seen[start]),
            "ratio": round(levels.change(before, after), 4),
            "after": _who(seen[start - 1]),
            "changed": _changed(seen[start - 1].versions, seen[start].versions),
        }


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Versions that changed with a step: `uvloop 0.21.0 to 0.22.0`."""
    return [
        f"{name} {before[name]} to {after[name]}"
        for name in sorted(before.keys() & after.keys())
        if before[name] != after[name]
    ]


def _who(point: Point) -> dict[str, Any]:
    return {"run": point.run, "commit": point.commit, "commit_time": point.commit_time}


def _problems(history: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Cells that have no figure to judge in the newest run, and why."""
    tips = points.newest(history)
    now = list(dict.fromkeys(tip.cell for tip in tips))
    for cell, run in points.missing(history):
        known = {point.cell for point in history if point.run == run}
        fresh = [each for each in now if each not in known]
        close = difflib.get_close_matches(cell, fresh, n=1, cutoff=0.5)
        renamed = f'; was it renamed to "{close[0]}"?' if close else ""
        yield cell, f'"{cell}" is missing since {run}, the last run that had it{renamed}'
    for cell in now:
        error = next((tip.error for tip in tips if tip.cell == cell and tip.error), None)
        if error:
            yield cell, f'"{cell}" failed in the newest run: {error}'

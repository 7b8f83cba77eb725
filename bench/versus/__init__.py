"""Two stored runs, or two values of an axis of one: what changed, and what forbids to say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import fingerprint, store, summary
from bench.comparison import Pair
from bench.errors import COULD_NOT, FINE, SLOWER, BenchError, UsageError, nearest
from bench.stats import Verdict
from bench.variants import VARIANTS
from bench.versus import cells, figures, words
from bench.versus.cells import Stored

CODES: Mapping[str, int] = {"slower": SLOWER, "cannot tell": COULD_NOT}
ORDER: tuple[Verdict, ...] = ("slower", "cannot tell", "faster", "same")


def document(
    base: Path | str,
    head: Path | str | None = None,
    *,
    axis: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """What `compare --json` prints: of two runs, or of one along an axis that it varied.

    BenchError where a folder holds no run or nothing varies, UsageError on words that do not fit.
    """
    axes = (*summary.AXES, *VARIANTS, "server", "scenario")
    if axis is not None and axis not in axes:
        raise UsageError(f'--axis "{axis}" is no axis{nearest(axis, axes)}')
    if head is not None:
        return _apart(cells.stored(base), cells.stored(head), axis=axis, force=force)
    if axis is None:
        raise UsageError("compare with what? give a second run, or --axis, e.g. --axis era")
    if force:
        raise UsageError("--force goes with two runs; one run has one host and one client")
    return _within(summary.document(store.read(base)), axis)


def code(found: Mapping[str, Any]) -> int:
    """The exit code of a comparison."""
    return CODES.get(found["verdict"], FINE)


def suite(verdicts: Iterable[str]) -> Verdict:
    """The verdict on many figures: the worst that was shown; of none nothing can be told."""
    given = set(verdicts)
    return next((verdict for verdict in ORDER if verdict in given), "cannot tell")


def _within(run: Mapping[str, Any], axis: str) -> dict[str, Any]:
    """One run along one of its axes: its launches were interleaved, so the blocks decide."""
    found = [each for each in run["comparisons"] if each["axis"] == axis]
    if not found:
        varied = sorted({each["axis"] for each in run["comparisons"]})
        instead = f"it varies {', '.join(varied)}" if varied else "it has no two cells to compare"
        raise BenchError(f'{run["path"]} has nothing to compare along "{axis}"; {instead}')
    named = _named(run)
    return {
        "format": store.FORMAT,
        "verdict": suite(each["verdict"] for each in found),
        "axis": axis,
        "interleaved": True,
        "base": named,
        "head": named,
        "forced": False,
        "differs": [],
        "factors": [axis],
        "missing": [],
        "new": [],
        "failed": [],
        "compared": len({(each["base"], each["head"]) for each in found}),
        "comparisons": found,
        "reasons": [],
    }


def _apart(base: Stored, head: Stored, *, axis: str | None, force: bool) -> dict[str, Any]:
    """Two runs, one after the other: their launches are not pairs, so the groups decide."""
    failed = [*_failed("base", base), *_failed("head", head)]
    met = [pair for pair in cells.pairs(base, head, axis) if not _broken(pair, failed)]
    differs = cells.differences(base, head, met)
    factors = cells.factors(met, differs)
    forbidden = len(factors) > 1 or any(d.weight in words.FORBIDS for d in differs)
    compared = figures.compared(met, base, head)
    if forbidden and not force:
        compared = [{**each, "verdict": "cannot tell"} for each in compared]
    missing, new = _alone(base, head, met), _alone(head, base, met)
    whole = ["cannot tell"] if failed or missing else []
    found = {
        "format": store.FORMAT,
        "verdict": suite([*(each["verdict"] for each in compared), *whole]),
        "axis": axis,
        "interleaved": False,
        "base": _named(base.document),
        "head": _named(head.document),
        "forced": force,
        "differs": [each._asdict() for each in differs],
        "factors": factors,
        "missing": missing,
        "new": new,
        "failed": failed,
        "compared": len(met),
        "comparisons": compared,
    }
    return {**found, "reasons": words.reasons(found, differs)}


def _named(run: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: run[key] for key in ("run", "path", "status")}
    return {**known, "host_class": fingerprint.host_class(run["host"])}


def _failed(side: str, stored: Stored) -> Iterator[dict[str, str]]:
    """Cells without figures, or with figures of a server that did not work."""
    for cell in stored.document["cells"]:
        why = summary.failure(cell)
        if why:
            yield {"cell": cell["cell"], "side": side, "why": why}


def _broken(pair: Pair, failed: Sequence[Mapping[str, str]]) -> bool:
    cells = {("base", pair.base.cell), ("head", pair.head.cell)}
    return any((each["side"], each["cell"]) in cells for each in failed)


def _alone(these: Stored, those: Stored, met: Sequence[Pair]) -> list[str]:
    """Cells of these that met none, and that those do not know either."""
    known = {side.cell for pair in met for side in pair[1:3]} | those.sides.keys()
    return [cell for cell in these.sides if cell not in known]

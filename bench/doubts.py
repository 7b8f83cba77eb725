"""What a reader should doubt in a cell, each with its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pyarrow.compute as pc

from bench import seen, segments
from bench.seen import Seen
from bench.store import Run

MOST_BUSY_SHARE = 0.9


def warnings(run: Run, cell: Seen) -> Iterator[str]:
    """What a reader should doubt in this cell, with what helps."""
    name = cell.asked["cell"]
    error = run.meta.get("failed", {}).get(name)
    if error:
        yield f"not measured: {error}"
    for detail, outcome in zip(cell.details, cell.launches["outcome"].to_pylist(), strict=True):
        if outcome != "ok" and detail["facts"].get("error") and not error:
            yield f"a launch ended early ({outcome}): {detail['facts']['error']}"
    quoted = [line for detail in cell.details for line in detail["noise"]][:3]
    if quoted:
        lines = "; ".join(json.dumps(line, ensure_ascii=False) for line in quoted)
        yield f"lines on standard output that are no messages, the first: {lines}"
    made = cell.calls.filter(pc.not_equal(cell.calls["phase"], "floor"))
    bad = made.filter(pc.not_equal(made["outcome"], "ok"))
    if len(bad):
        kinds = ", ".join(
            f"{row['counts']} {row['values']}"
            for row in pc.value_counts(bad["outcome"]).to_pylist()
        )
        yield f"{len(bad)} of {len(made)} calls failed ({kinds}); see transcript.jsonl"
    wrong = segments.unsound(seen.durations(cell, "steady")[0], segments.CALL, "call")
    if wrong:
        yield f"{wrong} calls have parts that are negative or do not sum to the call"
    busy = client_bound(cell)
    if busy is not None:
        yield (
            f"client-bound: our client was busy {busy:.0%} of the time; these are figures of the "
            "client; try: a tool that does more, or --pin auto"
        )
    yield from _of_the_probe(cell)
    for what, words in COUNTED_WARNINGS.items():
        total = sum(detail["counts"].get(what, 0) for detail in cell.details)
        if total:
            yield f"{total} {words}"


def client_bound(cell: Seen) -> float | None:
    """Our own share of a core in the median launch, where it is so high that it was the limit."""
    shares = sorted(
        share
        for detail in cell.details
        if (share := detail["facts"].get("client_busy_share")) is not None
    )
    if not shares:
        return None
    median: float = shares[len(shares) // 2]
    return median if median > MOST_BUSY_SHARE else None


def _of_the_probe(cell: Seen) -> Iterator[str]:
    """Why there is no probe, or what it could not see, once for all launches."""
    reasons = {detail["facts"].get("no_probe") for detail in cell.details} - {None}
    probed = any(detail["facts"].get("probe_sdk") for detail in cell.details)
    yield from (f"{'probe' if probed else 'no probe'}: {reason}" for reason in sorted(reasons))


COUNTED_WARNINGS: Mapping[str, str] = {
    "duplicate_replies": "replies came twice, or after their call was given up",
    "stray_replies": "replies had an id that no request of ours had",
    "disordered": "calls had stamps in an order that cannot be; they are without server stamps",
    "leftovers": "processes of the server could not be ended",
}

"""What a reader should doubt in a cell, each with its evidence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench import counted, seen, segments, stats, tables
from bench.era import era_of_version
from bench.seen import Seen
from bench.segments import MISSING, Stamps
from bench.store import Run
from bench.units import milliseconds

MOST_BUSY_SHARE = 0.9
LEAST_SHARE, EARLY_SHARE = 0.05, 0.1
BANNER_BYTES, MOST_LOG_BYTES = 16 * 1024, 1024
LONG_WAIT_NS, FEWEST_EVENTS = 20_000_000, 2


def warnings(run: Run, cell: Seen) -> Iterator[str]:
    """What a reader should doubt in this cell, with what helps."""
    name = cell.asked["cell"]
    error = run.meta.get("failed", {}).get(name)
    if error:
        yield f"not measured: {error}"
    for detail, outcome in zip(cell.details, cell.launches["outcome"].to_pylist(), strict=True):
        if outcome != "ok" and detail["facts"].get("error") and not error:
            yield f"a launch ended early ({outcome}): {detail['facts']['error']}"
        if "unlisted" in detail["facts"]:
            yield f"called without a list of tools: {detail['facts']['unlisted']}"
    quoted = [line for detail in cell.details for line in detail["noise"]][:3]
    if quoted:
        lines = "; ".join(json.dumps(line, ensure_ascii=False) for line in quoted)
        yield f"lines on standard output that are no messages, the first: {lines}"
    bad = _failed(cell)
    if len(bad):
        yield f"{len(bad)} calls failed ({_kinds(cell, bad)}){_quoted(cell)}; see transcript.jsonl"
    wrong = segments.unsound(seen.durations(cell, "steady")[0], segments.CALL, "call")
    if wrong:
        yield f"{wrong} calls have parts that are negative or do not sum to the call"
    overlapping = [name for name, found in seen.setups(cell).items() if _negative(found)]
    if overlapping:
        yield f"setup parts that are negative: {', '.join(overlapping)}; stamps contradict here"
    yield from _of_the_client(cell)
    busy = client_bound(cell)
    if busy is not None:
        yield (
            f"client-bound: our client was busy {busy:.0%} of the time; these are figures of the "
            "client; try: a tool that does more, or --pin auto"
        )
    yield from _of_the_probe(cell)
    yield from _of_reports(cell)
    yield from _of_standard_error(cell)
    yield from _of_buffering(cell)
    for what, words in COUNTED_WARNINGS.items():
        total = sum(detail["counts"].get(what, 0) for detail in cell.details)
        if total:
            yield f"{total} {words}"


CHANNELS: Mapping[str, str] = {
    "tool_error": "tool_error: isError, said by the tool to the model",
    "protocol_error": "protocol_error: refused before any tool, said to the client's code",
}


def _quoted(cell: Seen) -> str:
    """What the first call that failed was told."""
    said = next((words for d in cell.details if (words := d["facts"].get("failed_with"))), None)
    return f", the first with {json.dumps(said, ensure_ascii=False)}" if said else ""


def _kinds(cell: Seen, bad: pa.ChunkedArray) -> str:
    """How many failed in which way; JSON-RPC errors with their codes."""
    said = []
    for row in pc.value_counts(bad).to_pylist():
        kind = row["values"]
        codes = counted.error_codes(cell.calls) if kind == "protocol_error" else {}
        which = ", ".join(f"{count} x {code}" for code, count in codes.items())
        said.append(f"{row['counts']} {CHANNELS.get(kind, kind)}{f', {which}' if which else ''}")
    return "; ".join(said)


def failed_calls(cell: Seen) -> int:
    """Calls of any phase that were not ok; requests for the floor are none."""
    return len(_failed(cell))


def failed_launches(cell: Seen) -> int:
    """Launches that did not get to their last call."""
    return int(pc.sum(pc.not_equal(cell.launches["outcome"], "ok")).as_py() or 0)


def _failed(cell: Seen) -> pa.ChunkedArray:
    """What we cancelled ourselves has not failed, and a round is part of a call."""
    made = pc.invert(pc.is_in(cell.calls["phase"], pa.array(["floor", "round"])))
    expected = pc.is_in(cell.calls["outcome"], pa.array(["ok", "cancelled"]))
    return cell.calls["outcome"].filter(pc.and_(made, pc.invert(expected)))


def _negative(durations: Stamps) -> bool:
    return bool(((durations < 0) & (durations != MISSING)).any())


def client_bound(cell: Seen) -> float | None:
    """Our own share of a core in the median launch, where it is so high that it was the limit.

    Of another client than our own it is no doubt, but what is being measured.
    """
    if seen.labels(cell)["client"] != "wire":
        return None
    shares = sorted(
        share
        for detail in cell.details
        if (share := detail["facts"].get("client_busy_share")) is not None
    )
    if not shares:
        return None
    median: float = shares[len(shares) // 2]
    return median if median > MOST_BUSY_SHARE else None


def _of_the_client(cell: Seen) -> Iterator[str]:
    """What server or client decided by themselves, whatever was asked for."""
    version = seen.version(cell)
    if version and era_of_version(version) != cell.asked["era"]:
        yield f"asked for {cell.asked['era']}, but the client settled on {version} by itself"
    labels = seen.labels(cell)
    for key, value in cell.asked["variant"].items():
        if len(cell.calls) and labels.get(key, value) != value:
            yield f"asked for {key} {value}, saw {labels[key]}"
    refused = {detail["facts"].get("refused") for detail in cell.details} - {None}
    yield from (f"the client refused what the server replied: {words}" for words in refused)


def _of_the_probe(cell: Seen) -> Iterator[str]:
    """Why there is no probe, or what it could not see, once for all launches."""
    if not len(seen.ok_calls(cell, "steady")):
        return  # calls that were refused need not have entered any function
    reasons = {detail["facts"].get("no_probe") for detail in cell.details} - {None}
    probed = any(detail["facts"].get("probe_sdk") for detail in cell.details)
    yield from (f"{'probe' if probed else 'no probe'}: {reason}" for reason in sorted(reasons))


def inconsistent(cell: Seen) -> int:
    """Steady calls for which the server reported a time that cannot be, whatever else told it."""
    told = tables.stamps(seen.ok_calls(cell, "steady"), "reported_ns")
    call = seen.durations(cell, "steady")[0].get("call", np.full(len(told), MISSING))
    return int(segments.impossible(call, told).sum())


def _of_reports(cell: Seen) -> Iterator[str]:
    """What speaks against the times that a server reported, or for another reading of them."""
    wrong = inconsistent(cell)
    if wrong:
        yield (
            f"{wrong} calls with an inconsistent server time: it was reported as longer than the "
            "call itself, or as less than nothing; they have no work and no boundary"
        )
    spans = [fact for detail in cell.details if (fact := detail["facts"].get("spans")) is not None]
    if spans and not any(spans):
        yield (
            "no span: none came for any call; the server needs an OpenTelemetry tracer provider "
            "that takes its exporter from the environment, and to be started by us"
        )
    calls = seen.ok_calls(cell, "steady")
    if seen.work_source(cell) == "header":
        yield from _early_head(calls)
    probed = tables.stamps(calls, "left_ns"), tables.stamps(calls, "entered_ns")
    work = np.where((probed[0] != MISSING) & (probed[1] != MISSING), probed[0] - probed[1], MISSING)
    header, told = tables.stamps(calls, "header_ns"), tables.stamps(calls, "reported_ns")
    by = calls["reported_by"].to_numpy()
    for source in seen.REPORTS:
        yield from _disagreement("probe", work, source, np.where(by == source, told, MISSING))
    yield from _disagreement("header", header, "span", np.where(by == "span", told, MISSING))


def _of_buffering(cell: Seen) -> Iterator[str]:
    """Events that all arrive together with the reply, after a long wait, were held back."""
    if cell.asked["transport"] != "http":
        return
    told = pc.and_(
        pc.equal(cell.messages["kind"], "notification"), pc.equal(cell.messages["direction"], "in")
    )
    news = cell.messages.filter(told)
    whose, at_ns = news["launch"].to_numpy(), news["at_ns"].to_numpy()
    launch = cell.calls["launch"].to_numpy()
    sent, received = (tables.stamps(cell.calls, f"{point}_ns") for point in ("sent", "received"))
    long = (received != MISSING) & (received - sent >= LONG_WAIT_NS)
    many = held = 0
    for number in np.unique(whose):
        stamps, own = np.sort(at_ns[whose == number]), long & (launch == number)
        first, last = (
            np.searchsorted(stamps, each[own], side="right") for each in (sent, received)
        )
        told_then = last - first >= FEWEST_EVENTS
        many += int(told_then.sum())
        held += int((told_then & (np.searchsorted(stamps, received[own]) <= first)).sum())
    if many and held == many:
        yield (
            f"buffered on the way: in {held} calls all events came in one piece with the reply; "
            "a proxy that buffers or compresses held them back, or the server itself did"
        )


def _of_standard_error(cell: Seen) -> Iterator[str]:
    """Who writes a log waits for it: much of it is time of the calls."""
    written = sum(detail["counts"].get("stderr_bytes", 0) for detail in cell.details)
    calls = len(cell.calls)
    if calls and written > len(cell.details) * BANNER_BYTES + calls * MOST_LOG_BYTES:
        yield (
            f"the server wrote {written / calls / 1024:,.0f} KiB to standard error a call: "
            "logging is part of these figures; try: a quieter log level"
        )


def _disagreement(name: str, one: Stamps, other_name: str, other: Stamps) -> Iterator[str]:
    """Where both tell a call's work, but in the middle further apart than they vary."""
    both = (one != MISSING) & (other != MISSING)
    if not both.any():
        return
    one, other = one[both], other[both]
    apart = abs(stats.rank_quantile(other - one, 0.5))
    middle, other_middle = (stats.rank_quantile(each, 0.5) for each in (one, other))
    spread = math.hypot(_between_quartiles(one), _between_quartiles(other))
    if apart > max(spread, LEAST_SHARE * abs(middle)):
        yield (
            f"work is {milliseconds(middle)} by {name} and {milliseconds(other_middle)} by "
            f"{other_name} (medians of {len(one)} calls), which is more than they vary; "
            "a span or header covers more than the tool's function: validation, middleware"
        )


def _between_quartiles(values: Stamps) -> int:
    return stats.rank_quantile(values, 0.75) - stats.rank_quantile(values, 0.25)


def _early_head(calls: pa.Table) -> Iterator[str]:
    """A header cannot tell of what was done after it had been sent."""
    sent, first, received = (
        tables.stamps(calls, f"{point}_ns") for point in ("sent", "first_byte", "received")
    )
    there = (first != MISSING) & (received != MISSING)
    if not there.any():
        return
    late, call = (
        stats.rank_quantile(received[there] - since[there], 0.5) for since in (first, sent)
    )
    if late > EARLY_SHARE * call:
        yield (
            f"the header that tells the work came {milliseconds(late)} before the reply, so what "
            "the server did then is not in it (an event stream begins before the tool is done)"
        )


COUNTED_WARNINGS: Mapping[str, str] = {
    "duplicate_replies": "replies came twice, or after their call was given up",
    "stray_replies": "replies had an id that no request of ours had",
    "disordered": "calls had stamps in an order that cannot be; they are without server stamps",
    "batches": "lines held several messages; MCP has batches in 2025-03-26 only",
    "unanswered_requests": "requests of the server came while too many others waited for answers",
    "leftovers": "processes of the server could not be ended",
    "compressed_replies": "replies to the SDK's client were compressed: they were not looked into",
}

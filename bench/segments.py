"""Stamps to named durations, from one table each for a call and for a setup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Stamps: TypeAlias = NDArray[np.int64]
MISSING = np.iinfo(np.int64).min


class Segment(NamedTuple):
    """A duration between two stamps; `part_of` names the sum that it is a part of."""

    name: str
    start: str
    end: str
    about: str
    part_of: str | None = None


CALL: tuple[Segment, ...] = (
    Segment("call", "sent", "received", "one request and its final response"),
    Segment("deliver", "sent", "read", "until the server has the bytes", "call"),
    Segment("dispatch", "read", "entered", "the SDK, up to the tool's own function", "call"),
    Segment("work", "entered", "left", "the tool's own function", "call"),
    Segment("encode", "left", "writing", "the SDK, until the reply is handed over", "call"),
    Segment("return", "writing", "received", "until we have the bytes", "call"),
    Segment("send", "sent", "written", "our write call"),
    Segment("ttfb", "sent", "first_byte", "until the first byte of the reply"),
    Segment("decode", "received", "decoded", "our reading of the reply"),
    Segment("first_progress", "sent", "progress", "until the first notice of progress"),
    Segment("event", "sent", "event", "until the change it makes is told to who listens"),
    Segment("stopping", "cancelled", "left", "until a cancelled call really ends"),
    Segment("call_connect", "connecting", "connected", "a connection made for it"),
    Segment("client_out", "sent", "out", "the client's SDK, until its request can go out"),
    Segment("exchange", "out", "in", "the request alone, without the client's SDK around it"),
    Segment("client_in", "in", "received", "the client's SDK, once its reply is there"),
)

SETUP: tuple[Segment, ...] = (
    Segment("setup", "began", "ready", "from the start of the launch until it can be called"),
    Segment("first_reply", "spawning", "first_reply_received", "start up to a reply", "setup"),
    Segment("interpreter", "interpreter_start", "process_up", "until our probe runs", "setup"),
    Segment("imports", "process_up", "imports_done", "until the SDK starts serving", "setup"),
    Segment("serving", "imports_done", "first_read", "until the first request is read", "setup"),
    Segment("connect", "connecting", "connected", "until the connection stands", "setup"),
    Segment("tls", "connected", "tls_done", "until it is encrypted, both sides shown", "setup"),
    Segment("initialize", "initialize_start", "initialize_received", "the handshake", "setup"),
    Segment("discover", "discover_start", "discover_received", "asking what is there", "setup"),
    Segment("initialized", "initialized_sent", "initialized_done", "accepting the offer", "setup"),
    Segment("tools_list", "tools_sent", "tools_received", "all pages of the tool list", "setup"),
    Segment("listen", "listen_sent", "listen_acknowledged", "subscribing to changes", "setup"),
    Segment("resolve", "connecting", "resolved", "the name of the server to addresses"),
    Segment(
        "boot", "spawning", "accepting", "until a server we start accepts connections, to 4 ms"
    ),
    Segment("first_call", "first_sent", "first_received", "the first call of the launch"),
    Segment("teardown", "closing", "gone", "goodbye: DELETE or end of input, until it has left"),
    Segment("first_result", "began", "first_received", "launch to the first tool result"),
)
OPENINGS = ("initialize", "discover")
THINK = "think"  # our own time while the server waits for an answer of ours: a part of the call
SETUP_NAMES = (*(segment.name for segment in SETUP), "client")


def calls(stamps: Mapping[str, Stamps]) -> dict[str, Stamps]:
    """Durations in ns of every call segment, row for row; MISSING where a stamp is missing.

    `stamps` maps a point (`sent`) to int64 ns with MISSING for none. `boundary` = call − work.
    Segments that no row has are left out. Our own client connects before a call, the SDK's in it:
    there `client_out` is what connecting leaves of it.
    """
    durations = _durations(CALL, stamps)
    if "client_out" in durations and "call_connect" in durations:
        within = (durations["call_connect"] != MISSING) & (stamps["connecting"] >= stamps["sent"])
        connect = np.where(within, durations["call_connect"], 0)
        durations["client_out"] = _minus(durations["client_out"], connect)
    if "work" in durations:
        durations["boundary"] = _minus(durations["call"], durations["work"])
    return durations


def told(call: Stamps, reported: Stamps) -> dict[str, Stamps]:
    """`work` as a server reported it in ns, and `boundary`; none where that cannot be."""
    possible = (call != MISSING) & (reported != MISSING) & ~impossible(call, reported)
    work = np.where(possible, reported, MISSING)
    return {"work": work, "boundary": _minus(call, work)} if possible.any() else {}


def thoughtful(
    durations: Mapping[str, Stamps], stamps: Mapping[str, Stamps], think: Stamps
) -> dict[str, Stamps]:
    """The durations with our own thinking taken out of the server's share of each call.

    `think`: ns of each call, MISSING where the server asked nothing. It is a part of the call, and
    no longer of the part in which the server waited for us: `work` where the tool asked, `dispatch`
    or `encode` where the SDK around it did. `served` is what the call took without it.
    """
    if "call" not in durations or not (think != MISSING).any():
        return dict(durations)
    ours = np.where(think == MISSING, 0, think)
    served = {"served": _minus(durations["call"], ours)}
    for part, waited in _waited(stamps).items():
        if part in durations:
            served[part] = _minus(durations[part], np.where(waited, ours, 0))
    if "work" in served:
        served["boundary"] = _minus(served["served"], served["work"])
    return {**durations, **served, THINK: think}


def _waited(stamps: Mapping[str, Stamps]) -> dict[str, NDArray[np.bool_]]:
    """In which part of the call the server was when it first asked us, row for row."""
    asked, entered, left = (stamps[point] for point in ("asked", "entered", "left"))
    before, after = asked < entered, (left != MISSING) & (asked > left)
    return {"dispatch": before, "work": ~before & ~after, "encode": after}


def impossible(call: Stamps, reported: Stamps) -> NDArray[np.bool_]:
    """Where a server reported less than nothing, or longer than its call took."""
    there = (call != MISSING) & (reported != MISSING)
    found: NDArray[np.bool_] = there & ((reported < 0) | (reported > call))
    return found


def setups(stamps: Mapping[str, Stamps]) -> dict[str, Stamps]:
    """Durations in ns of every setup segment, launch for launch, as `calls` gives them.

    `client` is our own time between the parts: what they leave of `setup`.
    """
    durations = _durations(SETUP, with_openings(stamps))
    if "setup" in durations:
        parts = [one.name for one in SETUP if one.part_of == "setup" and one.name in durations]
        spent = sum((np.where(durations[p] == MISSING, 0, durations[p]) for p in parts), start=0)
        whole = durations["setup"]
        durations["client"] = np.where(whole == MISSING, MISSING, whole - spent)
    return durations


def given_up(stamps: Mapping[str, Stamps]) -> dict[str, Stamps]:
    """How long what was never done had taken, in ns, when its launch was given up at a limit.

    By setup segment, launch for launch; MISSING where it was done, or not begun, or not given up.
    The true duration is longer: it is known only to lie beyond.
    """
    points = with_openings(stamps)
    nothing = np.full(len(next(iter(stamps.values()), ())), MISSING)
    found: dict[str, Stamps] = {}
    for segment in SETUP:
        done = points.get(segment.end, nothing) != MISSING
        since = _minus(stamps.get("gave_up", nothing), points.get(segment.start, nothing))
        found[segment.name] = np.where(done, MISSING, since)
    return found


def with_openings(stamps: Mapping[str, Stamps]) -> dict[str, Stamps]:
    """Add the points at which a setup, and the opening exchange in it, begin.

    A connection gives the opening a beginning. A pipe does not: the request is written before
    there is a server to read it, so its time is `first_reply`, unless a probe saw the read. An
    opening that follows another one that was declined begins when it is sent.
    """
    nothing = np.full(len(next(iter(stamps.values()), ())), MISSING)
    spawning, connecting, first_read = (
        stamps.get(point, nothing) for point in ("spawning", "connecting", "first_read")
    )
    connected = connecting != MISSING
    ready = stamps.get("ready", nothing)
    unasked = (ready != MISSING) & (first_read > ready)  # a client that knew it all did not wait
    probed = ~connected & (first_read != MISSING) & ~unasked
    points = dict(stamps)
    own = stamps.get("began", nothing)
    points["began"] = np.where(own != MISSING, own, np.where(connected, connecting, spawning))
    points["interpreter_start"] = np.where(probed, spawning, MISSING)
    if (connected | unasked).any():
        for point in ("process_up", "imports_done", "first_read"):
            points[point] = np.where(probed, stamps.get(point, nothing), MISSING)
    ended = {step: _ended(stamps, step, nothing) for step in OPENINGS}
    for step, other in (OPENINGS, OPENINGS[::-1]):
        received, before = ended[step], ended[other]
        points[f"{step}_received"] = received
        sent = stamps.get(f"{step}_sent", nothing)
        piped = np.where(probed, first_read, MISSING)
        answered = received != MISSING
        second = (before != MISSING) & (before <= sent)
        start = np.where(connected | second, sent, piped)
        due = answered | (stamps.get("gave_up", nothing) != MISSING)
        points[f"{step}_start"] = np.where(due, start, MISSING)
        unseen = answered & ~connected & ~probed & ~second
        reply = points.get("first_reply_received", nothing)
        points["first_reply_received"] = np.where(unseen, received, reply)
    unopened = (ended["initialize"] == MISSING) & (ended["discover"] == MISSING) & ~connected
    return points | _list_first(points, unopened, np.where(probed, first_read, MISSING))


def _ended(stamps: Mapping[str, Stamps], step: str, nothing: Stamps) -> Stamps:
    """When an opening was answered, or given up by a client that then tried the other era's."""
    received = stamps.get(f"{step}_received", nothing)
    return np.where(received == MISSING, stamps.get(f"{step}_given_up", nothing), received)


def _list_first(
    points: Mapping[str, Stamps], unopened: NDArray[np.bool_], first_read: Stamps
) -> dict[str, Stamps]:
    """On a pipe without an opening, the tool list is written before there is a server to read it.

    It begins when a probe saw it read; without one, the start is in it: it is `first_reply`.
    """
    if "tools_received" not in points:
        return {}
    received = points["tools_received"]
    unseen = unopened & (first_read == MISSING)
    known = points.get("first_reply_received", np.full(len(received), MISSING))
    return {
        "tools_sent": np.where(unopened, first_read, points["tools_sent"]),
        "first_reply_received": np.where(unseen, received, known),
    }


def unsound(durations: Mapping[str, Stamps], table: tuple[Segment, ...], whole: str) -> int:
    """Rows that have all parts of `whole`, but with one negative or with another sum.

    Stamps join in an order that causality fixes, and neighbours share one: this counts faults.
    """
    parts = [one.name for one in table if one.part_of == whole]
    if whole not in durations or any(part not in durations for part in parts):
        return 0
    values = np.stack([durations[part] for part in parts])
    thought = durations.get(THINK, np.full(values.shape[1], MISSING))
    values = np.vstack([values, np.where(thought == MISSING, 0, thought)])
    there = (values != MISSING).all(axis=0) & (durations[whole] != MISSING)
    wrong = (values < 0).any(axis=0) | (values.sum(axis=0) != durations[whole])
    return int((wrong & there).sum())


def _durations(table: tuple[Segment, ...], stamps: Mapping[str, Stamps]) -> dict[str, Stamps]:
    found: dict[str, Stamps] = {}
    for segment in table:
        if segment.start in stamps and segment.end in stamps:
            duration = _minus(stamps[segment.end], stamps[segment.start])
            if (duration != MISSING).any():
                found[segment.name] = duration
    return found


def _minus(end: Stamps, start: Stamps) -> Stamps:
    both = (end != MISSING) & (start != MISSING)
    return np.where(both, end - np.where(both, start, 0), MISSING)

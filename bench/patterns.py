"""Known patterns in a cell's figures, each named with its evidence and what helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from bench import stats
from bench.comparison import Sample
from bench.units import milliseconds

DELAYED_ACK_NS = (38_000_000, 48_000_000)  # Linux: TCP_DELACK_MIN is 40 ms
MUCH, FAR_NS = 5, 5_000_000


class Figures(NamedTuple):
    """What the patterns look at: samples by segment, wire counts, and requests by method.

    `by_step` has the calls of each step by themselves, without our own thinking: what differs by
    step is no pattern of the server. `methods` counts the requests between the first call and the
    floor. `own_client`: ours, which asks nothing that the scenario does not.
    """

    samples: Mapping[str, Sample]
    by_step: Mapping[str, Sample]
    wire: Mapping[str, Any]
    methods: Mapping[str, int]
    calls: int
    launches: int
    per_call_connections: bool
    own_client: bool = False
    one_per_call: bool = False


def find(figures: Figures) -> list[str]:
    """One sentence for each pattern that is there."""
    return [sentence for look in PATTERNS for sentence in look(figures)]


def _delayed_ack(figures: Figures) -> Iterator[str]:
    if "connect" not in figures.samples:
        return
    for step, sample in figures.by_step.items():
        yield from (f"{_of(step, figures)}{each}" for each in _held_back(sample, figures))


def _of(step: str, figures: Figures) -> str:
    """The step, where there are several."""
    return f"{step}: " if len(figures.by_step) > 1 else ""


def _held_back(sample: Sample, figures: Figures) -> Iterator[str]:
    call = sample.values
    low, high = DELAYED_ACK_NS
    caught = int(((call >= low) & (call <= high)).sum())
    work = figures.samples.get("work")
    busy = work is not None and _median(work) > low // 2
    if caught >= 0.05 * len(call) and not busy:
        yield (
            f"delayed ACK: {caught} of {len(call)} calls took 38 to 48 ms, the time a receiver "
            "holds back an acknowledgement while the sender waits to send its second small "
            "piece; the server should write a reply at once, or set TCP_NODELAY"
        )


def _handshake_per_call(figures: Figures) -> Iterator[str]:
    opened = figures.methods.get("initialize", 0)
    if figures.calls and opened >= 0.5 * figures.calls:
        yield (
            f"a handshake per call: {opened} initialize for {figures.calls} calls; keep the "
            "session, or use the stateless era"
        )


def _connections(figures: Figures) -> Iterator[str]:
    opened = figures.wire["connections_opened"]
    each = figures.calls / max(1, figures.launches)
    if opened > max(2, each / 2) and not figures.per_call_connections:
        yield (
            f"connections are not reused: {opened} opened for {each:.0f} calls of a launch; "
            "is the server closing after each reply, or the client before its end?"
        )


def _hidden_list(figures: Figures) -> Iterator[str]:
    listed = figures.methods.get("tools/list", 0)
    if listed and not figures.own_client:
        took_ns = figures.wire.get("hidden_ns", {}).get("tools/list")
        each = "" if took_ns is None else f", {milliseconds(took_ns)} each"
        yield (
            f"hidden tools/list: the client asked for the list {listed} times beside "
            f"{figures.calls} calls{each}, and its time is in theirs"
        )


def _first_call(figures: Figures) -> Iterator[str]:
    alike = len(figures.by_step) == 1  # else the first call is of one step, the median of all
    if not alike or "first_call" not in figures.samples or "call" not in figures.samples:
        return
    first, call = (_median(figures.samples[name]) for name in ("first_call", "call"))
    if first > MUCH * call and first - call > FAR_NS:
        yield (
            f"the first call takes {milliseconds(first)}, later ones {milliseconds(call)}: "
            "something is made ready only when it is first asked for"
        )


def _imports(figures: Figures) -> Iterator[str]:
    if "imports" in figures.samples and "setup" in figures.samples:
        imports, setup = (_median(figures.samples[name]) for name in ("imports", "setup"))
        if imports > setup / 2:
            yield (
                f"imports are {imports / setup:.0%} of the setup ({milliseconds(imports)} of "
                f"{milliseconds(setup)}): it is the start of the program, not MCP"
            )


def _modes(figures: Figures) -> Iterator[str]:
    for step, sample in figures.by_step.items():
        yield from (f"{_of(step, figures)}{each}" for each in _apart(sample))


def _apart(call: Sample) -> Iterator[str]:
    modes = stats.modes(call.values)
    if len(modes) < 2:
        return
    centres = " and ".join(milliseconds(mode) for mode in modes)
    split = float(np.sqrt(modes[0] * modes[1]))
    shares = [(call.values[call.round == r] > split).mean() for r in np.unique(call.round)]
    apart = all(share < 0.1 or share > 0.9 for share in shares) and len(shares) > 1
    why = (
        "whole launches fall on one side or the other, as with processes placed on other cores; "
        "try: --pin auto"
        if apart
        else "both occur within a launch; one median hides them"
    )
    yield f"{len(modes)} modes, {centres}: {why}"


def _one_per_call(figures: Figures) -> Iterator[str]:
    """The parts of a call that has a start of its own, which are not the call's."""
    parts = [name for name in ("setup", "call", "teardown") if name in figures.samples]
    if figures.one_per_call and "call" in parts:
        medians = {name: _median(figures.samples[name]) for name in parts}
        listed = " + ".join(f"{name} {milliseconds(value)}" for name, value in medians.items())
        yield (
            f"a start for each call: {milliseconds(sum(medians.values()))} a call = {listed}; "
            "with --policy reuse only the call is paid each time"
        )


PATTERNS: tuple[Callable[[Figures], Iterator[str]], ...] = (
    _delayed_ack,
    _handshake_per_call,
    _connections,
    _hidden_list,
    _first_call,
    _imports,
    _modes,
    _one_per_call,
)


def _median(sample: Sample) -> int:
    return stats.rank_quantile(sample.values, 0.5)

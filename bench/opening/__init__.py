"""The setup of a launch up to its tools: opened as its cell says, a version settled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from bench import jsonrpc
from bench.era import ERAS, VERSIONS_OF, Era, versions
from bench.errors import SetupError
from bench.model import Agreement, EraName, Outgoing, Reply
from bench.opening.talk import Talk, asked, keep, kept, no_answer, proposes_another
from bench.opening.tool_list import tools

__all__ = ["Talk", "open", "tools"]

# A client of both eras gives up on server/discover after this share of a step's limit: silence
# means the handshake era (2026-07-28, basic/transports/stdio), but so does a slow start.
FINDING_SHARE = 1 / 3


class Opened(NamedTuple):
    """The era that is spoken from here on, and what was agreed."""

    era: Era
    agreement: Agreement


async def open(talk: Talk) -> Opened:
    """The opening exchange and what must follow it; SetupError where nothing is agreed."""
    way = talk.cell.variant.get("opening", "known")
    talk.recorder.facts["opening"] = way
    return await OPENINGS[way](talk)


async def _known(talk: Talk) -> Opened:
    """The client knows the server's era, and begins as that era does."""
    return await _agreed(talk, _era(talk, talk.cell.era))


async def _direct(talk: Talk) -> Opened:
    """Nothing is asked beforehand: the first ordinary request shows what the server speaks."""
    era = _era(talk, "stateless")
    talk.recorder.facts["protocol_requested"] = era.version
    return Opened(era, Agreement(era.version))


async def _find(talk: Talk) -> Opened:
    """A client of both eras: server/discover first; anything of the old era, then initialize."""
    modern = _era(talk, "stateless")
    out = modern.opening(next(talk.ids))
    reply = await talk.wire.exchange(out, limit_s=talk.limits.setup_s * FINDING_SHARE)
    _stamp(talk, modern.opening_step, reply)
    if versions.is_stateless(reply.body):
        return await _settled(talk, modern, reply)
    silent = reply.outcome == "timeout"
    if not reply.body and not silent and reply.http_status is None:
        error = await no_answer(talk, modern.opening_step, out, reply)
        error.args = (f"{error}; try: --opening known, where it bears no question of that era",)
        raise error
    talk.recorder.facts["found_by"] = _found_by(reply)
    return await _agreed(talk, _era(talk, "stateful"))


OPENINGS: Mapping[str, Callable[[Talk], Awaitable[Opened]]] = {
    "known": _known,
    "direct": _direct,
    "find": _find,
}


def _era(talk: Talk, name: EraName) -> Era:
    """One side of the conversation; a version is proposed in the era it belongs to."""
    version = talk.cell.protocol_version
    others = {each for era, known in VERSIONS_OF.items() if era != name for each in known}
    return ERAS[name](None if version in others else version, talk.cell.capabilities)


async def _agreed(talk: Talk, era: Era) -> Opened:
    known = kept(talk, "server/discover") if era.opening_step == "discover" else None
    if known is not None:
        agreement = era.agree(known)
        _note(talk, era, agreement)
        return Opened(era, agreement)
    out = era.opening(next(talk.ids))
    reply = await asked(talk, era.opening_step, out)
    _stamp(talk, era.opening_step, reply)
    return await _settled(talk, era, reply)


async def _settled(talk: Talk, era: Era, reply: Reply) -> Opened:
    """Propose once more where a refusal lists a version we know; then what was agreed on."""
    proposed = era.version
    if proposes_another(talk, era, reply):
        reply = await asked(talk, era.opening_step, era.opening(next(talk.ids)))
        _stamp(talk, era.opening_step, reply)
    talk.recorder.facts["protocol_requested"] = proposed
    try:
        agreement = era.agree(reply.body)
    except SetupError as error:
        raise SetupError(f'server "{talk.name}": {error}', phase=era.opening_step) from error
    _note(talk, era, agreement, requested=proposed)
    if era.opening_step == "discover":
        keep(talk, "server/discover", reply.body, [reply])
    confirmation = era.confirmation()
    if confirmation is not None:
        await _confirm(talk, confirmation)
    return Opened(era, agreement)


def _note(talk: Talk, era: Era, agreement: Agreement, *, requested: str | None = None) -> None:
    facts = talk.recorder.facts
    facts["protocol_requested"] = requested or era.version
    facts["protocol_version"] = agreement.protocol_version
    facts["server_info"] = dict(agreement.server_info)
    if agreement.capabilities is not None:
        facts["announced"] = list(agreement.capabilities)


def _found_by(reply: Reply) -> str:
    """What told a client of both eras that the server is of the handshake era."""
    if reply.outcome == "timeout":
        return "silence"
    code = jsonrpc.error_of(reply.body).get("code")
    if isinstance(code, int):
        return f"error {code}"
    return f"HTTP {reply.http_status}" if (reply.http_status or 200) >= 300 else "its reply"


def _stamp(talk: Talk, step: str, reply: Reply) -> None:
    """The two stamps of a step among the launch's marks: its first request, its last reply."""
    marks = talk.recorder.marks
    marks.setdefault(f"{step}_sent", reply.sent_ns)
    if reply.received_ns is not None:
        marks[f"{step}_received"] = reply.received_ns
    else:
        marks[f"{step}_given_up"] = talk.recorder.clock()


async def _confirm(talk: Talk, out: Outgoing) -> None:
    reply = await talk.wire.notify(out, limit_s=talk.limits.setup_s)
    if reply.outcome != "ok":
        raise SetupError(
            f'server "{talk.name}" did not take {out.method}: {reply.why}{await talk.why_gone()}',
            phase="initialized",
            outcome=reply.outcome,
        )
    talk.recorder.marks["initialized_sent"] = reply.sent_ns
    if reply.received_ns is not None:
        talk.recorder.marks["initialized_done"] = reply.received_ns

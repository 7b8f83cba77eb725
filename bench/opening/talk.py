"""What the requests before the first call share: how they are asked, refused, kept and retried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple

import anyio

from bench import cache, jsonrpc
from bench.cache import Shelf
from bench.era import VERSIONS_OF, Era, versions
from bench.errors import SetupError
from bench.model import Cell, Limits, Outgoing, Reply
from bench.process import POLL_S
from bench.recorder import Recorder
from bench.wire import Wire

FLUSH_WAIT_S = 1.0
SENT = {"tools_list": "tools_sent"}  # where a step's first stamp has another name


class Talk(NamedTuple):
    """What the setup of one launch is held with; `name` is the server's, for words.

    With a `shelf`, what still holds of earlier launches is not asked again.
    """

    name: str
    cell: Cell
    recorder: Recorder
    wire: Wire
    limits: Limits
    ids: Iterator[int]
    why_gone: Callable[[], Awaitable[str]]
    shelf: Shelf | None = None


async def asked(talk: Talk, step: str, out: Outgoing) -> Reply:
    """The reply to a request of the setup, also where it refuses; SetupError where none came."""
    reply = await talk.wire.exchange(out, limit_s=talk.limits.setup_s)
    if reply.outcome == "timeout":
        talk.recorder.mark("gave_up")
        talk.recorder.facts["gave_up"] = step
        talk.recorder.marks.setdefault(SENT.get(step, f"{step}_sent"), reply.sent_ns)
    if reply.received_ns is None and not reply.body:
        raise await no_answer(talk, step, out, reply)
    return reply


async def no_answer(talk: Talk, step: str, out: Outgoing, reply: Reply) -> SetupError:
    """The error for a request that got no reply: why, and the server's last words."""
    return SetupError(
        f'server "{talk.name}" did not answer {out.method}: '
        f"{reply.why}{await talk.why_gone()}{await _unflushed(talk, reply)}",
        phase=step,
        outcome=reply.outcome,
    )


async def _unflushed(talk: Talk, reply: Reply) -> str:
    """A silent server may have answered into a buffer: the end of its input flushes that.

    One that has answered before is known to flush, and may be called all the same.
    """
    opened = "protocol_version" in talk.recorder.facts
    if reply.outcome != "timeout" or opened or not talk.wire.end_input():
        return ""
    counts = talk.recorder.counts
    known = counts.get("duplicate_replies", 0)
    with anyio.move_on_after(FLUSH_WAIT_S):
        while counts.get("duplicate_replies", 0) == known:
            await anyio.sleep(POLL_S)
        talk.recorder.facts["reply_after_eof"] = True
        return (
            "; the reply came when its input ended: it was produced but not flushed; "
            "try: flush standard output after each message"
        )
    return ""


def proposes_another(talk: Talk, era: Era, reply: Reply) -> bool:
    """Whether the reply refuses the version and names one that we know: the next to propose."""
    other = versions.instead(reply.body, era.version, VERSIONS_OF[era.name])
    if other is None:
        return False
    talk.recorder.count("version_retries")
    era.propose(other)
    return True


def keep(talk: Talk, method: str, answer: Any, pages: Sequence[Reply]) -> None:
    """Note the cache hints of an answer, and keep it where they are honoured."""
    hint = cache.least([cache.hint_of(jsonrpc.result_of(page.body)) for page in pages])
    if hint is None:
        return
    hints = talk.recorder.facts.setdefault("cache_hints", {})
    hints[method] = {"ttlMs": hint.ttl_ms, "cacheScope": hint.scope}
    received_ns = pages[0].received_ns
    if talk.shelf is not None and received_ns is not None:
        talk.shelf.keep(method, cache.Kept(hint, received_ns, answer, len(pages)))


def kept(talk: Talk, method: str) -> Any | None:
    """What an earlier launch was told and still holds; each request so saved is counted."""
    found = talk.shelf.look(method, talk.recorder.clock()) if talk.shelf is not None else None
    if found is None:
        return None
    talk.recorder.count("requests_saved", found.requests)
    return found.answer

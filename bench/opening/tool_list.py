"""The tool list of a server: read to its last page, counted, its order and its hints noted."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import msgspec

from bench import jsonrpc
from bench.era import Era, versions
from bench.errors import SetupError
from bench.model import Reply, Tool
from bench.opening.talk import Talk, asked, keep, kept, proposes_another

INVALID_REQUEST = -32600
MOST_SETTLING, SETTLE_S = 20, 0.02


async def tools(talk: Talk, era: Era) -> tuple[Tool, ...]:
    """All pages of the tool list; an absent `nextCursor` ends it, an empty one does not."""
    known: tuple[Tool, ...] | None = kept(talk, "tools/list")
    if known is not None:
        talk.recorder.facts.update(_list_facts(known))
        era.learn(known)
        return known
    found: list[Tool] = []
    pages: list[Reply] = []
    params: dict[str, Any] | None = {}
    cursors: set[str] = set()
    while params is not None:
        pages.append(await _page(talk, era, params))
        result = jsonrpc.result_of(pages[-1].body)
        found += _tools(result)
        cursor = result.get("nextCursor")
        params = None if cursor is None else {"cursor": cursor}
        if str(cursor) in cursors:
            raise SetupError(
                f'server "{talk.name}" pages for ever: tools/list gave the cursor '
                f"{str(cursor)[:60]!r} twice",
                phase="tools_list",
            )
        cursors.add(str(cursor))
    _note_list(talk, found, pages)
    era.learn(found)
    return tuple(found)


async def _page(talk: Talk, era: Era, params: Mapping[str, Any]) -> Reply:
    """One page; where nothing was asked before, it also settles the version, at the second try.

    A server that has taken `initialized` and is not there yet is asked again, a few times.
    """
    reply = await _asked_for(talk, era, params)
    talk.recorder.marks.setdefault("tools_sent", reply.sent_ns)
    if _is_first_word(talk) and proposes_another(talk, era, reply):
        reply = await _asked_for(talk, era, params)
    for _ in range(MOST_SETTLING):
        if not _is_settling(era, reply):
            break
        talk.recorder.count("settle_retries")
        await anyio.sleep(SETTLE_S)
        reply = await _asked_for(talk, era, params)
    if reply.outcome == "protocol_error":
        error = jsonrpc.error_of(reply.body)
        raise SetupError(
            f'server "{talk.name}" refused tools/list: '
            f"error {error.get('code')}: {error.get('message')}{versions.spoken(error)}",
            phase="tools_list",
            outcome=reply.outcome,
        )
    if _is_first_word(talk) and not era.proven(reply.body):
        raise SetupError(
            f'server "{talk.name}" answered tools/list without a resultType: it is of the '
            "handshake era and passed over what the request says of itself; try: --era stateful",
            phase="tools_list",
        )
    talk.recorder.facts.setdefault("protocol_version", era.version)
    return reply


async def _asked_for(talk: Talk, era: Era, params: Mapping[str, Any]) -> Reply:
    return await asked(talk, "tools_list", era.request(next(talk.ids), "tools/list", params))


def _is_settling(era: Era, reply: Reply) -> bool:
    """Whether a refusal says that the handshake is not done on the server's side."""
    if era.confirmation() is None or reply.outcome != "protocol_error":
        return False
    error = jsonrpc.error_of(reply.body)
    said = "initializ" in str(error.get("message")).lower()
    return error.get("code") == INVALID_REQUEST or said


def _is_first_word(talk: Talk) -> bool:
    return talk.recorder.facts.get("opening") == "direct"


def _note_list(talk: Talk, found: Sequence[Tool], pages: Sequence[Reply]) -> None:
    """Marks and facts of a whole list: its count, its order as a short hash, each page's time."""
    recorder = talk.recorder
    received = [page.received_ns for page in pages if page.received_ns is not None]
    recorder.marks["tools_received"] = received[-1]
    recorder.facts.update(
        _list_facts(found),
        tool_pages=len(pages),
        tool_page_ns=[at - page.sent_ns for at, page in zip(received, pages, strict=True)],
    )
    keep(talk, "tools/list", tuple(found), pages)


def _list_facts(found: Sequence[Tool]) -> dict[str, Any]:
    names = [tool.name for tool in found]
    return {
        "tools": len(names),
        "tools_order": _short_hash(names),
        "tools_set": _short_hash(sorted(names)),
    }


def _short_hash(names: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(names).encode("utf-8", "replace")).hexdigest()[:12]


def _tools(result: Mapping[str, Any]) -> Sequence[Tool]:
    """The tools of one page; an entry that is no tool is passed over."""
    found = []
    listed = result.get("tools")
    for entry in listed if isinstance(listed, list) else ():
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(entry, Tool))
    return found

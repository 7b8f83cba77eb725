"""What the opening of a session settled, as its messages show it: era, versions, session, tools."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.explain import exchange
from bench.report.explain.exchange import Turned
from bench.report.figures import shown
from bench.units import milliseconds

META_SERVER = "io.modelcontextprotocol/serverInfo"
META_VERSION = "io.modelcontextprotocol/protocolVersion"


def sentences(turns: Sequence[Turned], facts: Mapping[str, Any]) -> Iterator[str]:
    """Era with versions and session, how it was found out, what is announced and listed."""
    yield _era(turns, facts)
    yield from _found_out(turns, facts)
    yield from _refused_versions(turns)
    if announces_no_tools(turns, facts):
        names = shown(", ".join(_announced(turns, facts) or ()) or "nothing")
        yield f"The server announces no tools (it announces {names}); that is not to say none."
    yield from _listed(turns)


def announces_no_tools(turns: Sequence[Turned], facts: Mapping[str, Any]) -> bool:
    """Whether the server has said what it has, and tools are not among it."""
    announced = _announced(turns, facts)
    return announced is not None and "tools" not in announced


def _announced(turns: Sequence[Turned], facts: Mapping[str, Any]) -> list[str] | None:
    for method in ("initialize", "server/discover"):
        turn = exchange.first(turns, "response", method)
        capabilities = turn.result.get("capabilities") if turn is not None else None
        if isinstance(capabilities, dict):
            return sorted(capabilities)
    known = facts.get("announced")
    return list(known) if isinstance(known, list | tuple) else None


def _era(turns: Sequence[Turned], facts: Mapping[str, Any]) -> str:
    """One line: the era as it was spoken, what was asked and agreed, and whether by a session."""
    opening = exchange.first(turns, "request", "initialize")
    if opening is not None:
        asked = opening.params.get("protocolVersion")
        reply = exchange.first(turns, "response", "initialize")
        agreed = reply.result.get("protocolVersion") if reply is not None else None
        session = "kept" if facts.get("session") or _on_a_pipe(turns) else "none"
        held = f"; session {session}" if agreed is not None else ""
        return f"Era: stateful (a handshake); {_versions(asked, agreed)}{held}{_server(turns)}."
    asked = next((v for t in turns if (v := _meta_version(t)) is not None), None)
    if asked is None:
        return ""
    agreed = facts.get("protocol_version") or asked
    known = f"{_versions(asked, agreed)}; session none{_server(turns)}"
    return f"Era: stateless (no handshake); {known}.{_unproven(turns)}"


def _server(turns: Sequence[Turned]) -> str:
    """`; server tickets 1.0`: who it says it is, which proves nothing."""
    for turn in turns:
        meta = turn.result.get("_meta")
        stateless = meta.get(META_SERVER) if isinstance(meta, dict) else None
        info = turn.result.get("serverInfo") or stateless
        if isinstance(info, dict) and info.get("name"):
            return f"; server {shown(info.get('name'))} {shown(info.get('version', ''))}".rstrip()
    return ""


def _unproven(turns: Sequence[Turned]) -> str:
    """A result of this era says what kind it is; a handshake server may answer all the same."""
    results = [turn for turn in turns if turn.is_step and turn.result]
    bare = [turn for turn in results if "resultType" not in turn.result]
    if not bare:
        return ""
    return (
        f" But the result of {bare[0].method} has no resultType: the server may be of the "
        "handshake era and have passed over what the request says of itself."
    )


def _versions(asked: object, agreed: object) -> str:
    if agreed is None:
        return f"asked for {asked}, nothing agreed"
    if asked == agreed:
        return f"version {shown(agreed)}"
    return f"asked for {shown(asked)}, offered {shown(agreed)}"


def _on_a_pipe(turns: Sequence[Turned]) -> bool:
    return all(turn.message.http_status is None for turn in turns)


def _meta_version(turn: Turned) -> str | None:
    meta = turn.params.get("_meta")
    version = meta.get(META_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def _found_out(turns: Sequence[Turned], facts: Mapping[str, Any]) -> Iterator[str]:
    """A client of both eras, which asked the new one's question before the old one's."""
    tried = exchange.first(turns, "request", "server/discover")
    opening = exchange.first(turns, "request", "initialize")
    if tried is None or opening is None or tried.message.at_ns > opening.message.at_ns:
        return
    reply = next((turn for turn in turns if turn.answers is tried.message), None)
    error = reply.error if reply is not None else None
    found_by = str(facts.get("found_by", ""))
    silent = f"was refused with {found_by}" if found_by.startswith("HTTP") else "was not answered"
    how = silent if reply is None else "was answered as no stateless server does"
    if error is not None:
        how = f"was answered with error {error.get('code')}"
    cost = milliseconds(opening.message.at_ns - tried.message.at_ns)
    start = ", the start of the server included" if _on_a_pipe(turns) else ""
    yield (
        f"The client speaks both eras: server/discover {how}, so it began a handshake; finding "
        f"that out took {cost}{start}."
    )


def _refused_versions(turns: Sequence[Turned]) -> Iterator[str]:
    """Each version that was refused with a list of others, and what was proposed next."""
    requests = [t for t in turns if t.is_step and t.message.kind == "request"]
    for this, following in itertools.pairwise(requests):
        old, new = _proposed(this), _proposed(following)
        if this.method == following.method and old and new and old != new:
            yield f"Version {old} was refused; {new}, which the refusal lists, was tried next."


def _proposed(turn: Turned) -> str | None:
    version = turn.params.get("protocolVersion") or _meta_version(turn)
    return version if isinstance(version, str) else None


def _listed(turns: Sequence[Turned]) -> Iterator[str]:
    """How many tools on how many pages, and for how long the list may be kept."""
    pages = [t for t in turns if t.is_step and t.key == ("in", "response", "tools/list")]
    lists = [tools for page in pages if isinstance(tools := page.result.get("tools"), list)]
    if not lists:
        return
    count = sum(len(tools) for tools in lists)
    on = f" on {len(lists)} pages" if len(lists) > 1 else ""
    ttl_ms = pages[-1].result.get("ttlMs")
    scope = pages[-1].result.get("cacheScope")
    kept = (
        f"; the list may be kept for {ttl_ms} ms ({shown(scope)})"
        if isinstance(ttl_ms, int)
        else ""
    )
    yield f"The server lists {count} tool{'' if count == 1 else 's'}{on}{kept}."
    if pages[-1].result.get("nextCursor") is not None:
        yield "The last page has a nextCursor: the client did not read the list to its end."

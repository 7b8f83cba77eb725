"""How long a result may be used again, by its own hints, and what that saves; without a clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

SCOPES = ("public", "private")
NS_OF_MS = 1_000_000


class Hint(NamedTuple):
    """The cache hints of a result: for how many ms it stays fresh, and who may share it.

    2026-07-28, server/utilities/caching: `ttlMs` is a whole number from 0 on; `cacheScope` is
    `public` or `private`, None here where it is neither.
    """

    ttl_ms: int
    scope: str | None


def hint_of(result: dict[str, Any]) -> Hint | None:
    """The hints of a result; None where it has no valid `ttlMs`, and so must not be kept."""
    ttl_ms, scope = result.get("ttlMs"), result.get("cacheScope")
    if not isinstance(ttl_ms, int) or isinstance(ttl_ms, bool) or ttl_ms < 0:
        return None
    return Hint(ttl_ms, scope if scope in SCOPES else None)


def least(hints: Sequence[Hint | None]) -> Hint | None:
    """The hint of a list of several pages: it is as fresh as its shortest-lived page."""
    known = [hint for hint in hints if hint is not None]
    if len(known) < len(hints) or not known:
        return None
    scopes = {hint.scope for hint in known}
    scope = scopes.pop() if len(scopes) == 1 else "private"
    return Hint(min(hint.ttl_ms for hint in known), scope)


class Kept(NamedTuple):
    """An answer that may be used again: when it came (ns), and how many requests it took."""

    hint: Hint
    received_ns: int
    answer: Any
    requests: int


def is_fresh(kept: Kept, now_ns: int) -> bool:
    """Whether the answer still holds at `now_ns`; with a `ttlMs` of 0 it never does."""
    return now_ns - kept.received_ns < kept.hint.ttl_ms * NS_OF_MS


class Shelf:
    """The last answer to each method, for a client that honours hints over its launches."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def look(self, method: str, now_ns: int) -> Kept | None:
        """The answer that still holds at `now_ns`; None where it must be asked for."""
        kept = self._kept.get(method)
        return kept if kept is not None and is_fresh(kept, now_ns) else None

    def keep(self, method: str, kept: Kept) -> None:
        """Keep an answer in place of the one before."""
        self._kept[method] = kept

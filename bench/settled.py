"""What was settled in a cell before its first call: versions, capabilities, tool lists, hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bench.seen import Seen


def facts(cell: Seen) -> dict[str, Any]:
    """Additions to the cell of the summary; null where no launch came so far.

    `announced` names the server's capabilities; `cache_hints` has `ttlMs` and `cacheScope` by
    method.
    """
    return {
        "protocol_requested": max(_all(cell, "protocol_requested"), default=None),
        "announced": _last(cell, "announced"),
        "cache_hints": _last(cell, "cache_hints") or {},
    }


def on_the_wire(cell: Seen) -> dict[str, Any]:
    """Additions to the cell's `wire`: the tool list with its pages, and what was asked again.

    `tool_page_ns` is the median time of each page; `requests_saved` counts over all launches
    what cache hints made needless. `tools` is null where the server was not asked for them.
    """
    return {
        "tools": max(_all(cell, "tools"), default=None),
        "tool_pages": max(_all(cell, "tool_pages"), default=0),
        "tool_page_ns": _medians(_all(cell, "tool_page_ns")),
        "settle_retries": max(_counted(cell, "settle_retries"), default=0),
        "version_retries": max(_counted(cell, "version_retries"), default=0),
        "requests_saved": sum(_counted(cell, "requests_saved")),
    }


def findings(cell: Seen) -> Iterator[str]:
    """What a reader should know of the opening, each as one sentence."""
    requested, agreed = facts(cell)["protocol_requested"], _last(cell, "protocol_version")
    if requested and agreed and requested != agreed:
        yield f"asked for protocol {requested}, agreed on {agreed}: the server's counter-offer"
    announced = _last(cell, "announced")
    if announced is not None and "tools" not in announced:
        yield "the server announced no tools, so it was not asked for any; that is not to say none"
    for found_by in sorted(set(_all(cell, "found_by"))):
        yield (
            "the client tried server/discover first and learnt that the server is of the "
            f"handshake era by {found_by}; the segment discover is what that cost"
        )
    saved = sum(_counted(cell, "requests_saved"))
    if saved:
        yield f"{saved} requests were saved by honouring cache hints over {_launches(cell)}"


def warnings(cell: Seen) -> Iterator[str]:
    """What a client must not rely on here."""
    retries = sum(_counted(cell, "settle_retries"))
    if retries:
        yield (
            f"the server took initialized and was not ready: {retries} requests were refused and "
            f"made again over {_launches(cell)}; the wait is in tools_list"
        )
    orders, sets = set(_all(cell, "tools_order")), set(_all(cell, "tools_set"))
    if len(sets) > 1:
        yield f"the tools differ between launches: {len(sets)} different lists in {_launches(cell)}"
    elif len(orders) > 1:
        yield (
            f"the order of the tools differs between launches: {len(orders)} orders in "
            f"{_launches(cell)}; a list should be in a fixed order, so that it can be cached"
        )


def _launches(cell: Seen) -> str:
    return f"{len(cell.details)} launches"


def _all(cell: Seen, name: str) -> list[Any]:
    """A fact of each launch that has it."""
    known = (detail["facts"].get(name) for detail in cell.details)
    return [fact for fact in known if fact is not None]


def _last(cell: Seen, name: str) -> Any:
    return next(reversed(_all(cell, name)), None)


def _counted(cell: Seen, name: str) -> list[int]:
    return [detail["counts"].get(name, 0) for detail in cell.details]


def _medians(pages: Sequence[Sequence[int]]) -> list[int]:
    """The median of each page over the launches that read as many pages as most did."""
    longest = max((len(each) for each in pages), default=0)
    whole = [each for each in pages if len(each) == longest]
    return [int(np.median(values)) for values in zip(*whole, strict=True)]

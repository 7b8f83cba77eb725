"""When one call takes several requests: pages of a list, and input that the server wants of us."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bench import jsonrpc
from bench.model import Reply, Scripted, Step

PAGED = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
)
MOST = 1_000


class Again(NamedTuple):
    """What the next request of the same call has in its params, and how long we think first."""

    params: Mapping[str, Any]
    think_s: float = 0.0


def again(step: Step, reply: Reply, script: Mapping[str, Scripted]) -> Again | None:
    """Whether a call needs one more request; None where its reply is its end."""
    if reply.outcome == "input_required":
        return _answered(jsonrpc.result_of(reply.body), script)
    if step.method in PAGED and reply.outcome == "ok":
        cursor = jsonrpc.result_of(reply.body).get("nextCursor")
        return None if cursor is None else Again({"cursor": cursor})
    return None


def together(made: Sequence[Reply], *, unfinished: bool) -> Reply:
    """The requests of one call as one reply: from the first one sent to the last one received.

    Between them the server waited for us: that time is ours, and is kept as such.
    """
    first, last = made[0], made[-1]
    if len(made) == 1:
        return first
    pairs = itertools.pairwise(made)
    think_ns = sum(later.sent_ns - (earlier.received_ns or 0) for earlier, later in pairs)
    why = f"not done after {len(made)} requests" if unfinished else last.why
    return msgspec.structs.replace(
        last,
        sent_ns=first.sent_ns,
        written_ns=first.written_ns,
        connecting_ns=first.connecting_ns,
        connected_ns=first.connected_ns,
        progress_ns=first.progress_ns,
        think_ns=think_ns + sum(each.think_ns or 0 for each in made),
        wire_requests=len(made),
        rounds=tuple(made),
        why=why,
    )


def _answered(result: Mapping[str, Any], script: Mapping[str, Scripted]) -> Again | None:
    """The retry that 2026-07-28, basic/patterns/mrtr asks for: the same params, with a bare result
    for each key of `inputRequests`, and `requestState` byte for byte, absent where it was absent.

    None where the script has no answer to one of the requests.
    """
    requests = result.get("inputRequests") or {}
    if not isinstance(requests, dict):
        return None
    asked = {key: script.get(_method(request)) for key, request in requests.items()}
    if None in asked.values():
        return None
    answers = {key: each for key, each in asked.items() if each is not None}
    params: dict[str, Any] = {}
    if answers:
        params["inputResponses"] = {key: dict(each.result) for key, each in answers.items()}
    if "requestState" in result:
        params["requestState"] = result["requestState"]
    return Again(params, sum(each.think_s for each in answers.values())) if params else None


def _method(request: object) -> str:
    return str(request.get("method")) if isinstance(request, dict) else ""

"""What a reply says of versions and capabilities: the other versions offered, what is announced."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bench import jsonrpc

# 2026-07-28, basic/index, error codes: HeaderMismatch, MissingRequiredClientCapability,
# UnsupportedProtocolVersion. Only a server of the stateless era sends one of them.
STATELESS_ERRORS = (-32020, -32021, -32022)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def instead(body: bytes, tried: str, known: Sequence[str]) -> str | None:
    """The newest of the `known` versions that a refusal of `tried` names; None where none is.

    UnsupportedProtocolVersion lists them in `data.supported`; so may -32602 in the handshake era
    (2025-11-25, basic/lifecycle), and older servers name them in the message only.
    """
    offered = _supported(jsonrpc.error_of(body))
    return next((each for each in reversed(known) if each in offered and each != tried), None)


def is_stateless(body: bytes) -> bool:
    """Whether only a server of the stateless era answers so, be it a result or a refusal."""
    result = jsonrpc.result_of(body)
    code = jsonrpc.error_of(body).get("code")
    return isinstance(result.get("supportedVersions"), list) or code in STATELESS_ERRORS


def spoken(error: Mapping[str, Any]) -> str:
    """`; it speaks 2026-07-28` where a refusal says so."""
    offered = _supported(error)
    return f"; it speaks {', '.join(offered)}" if offered else ""


def announced(result: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names of the capabilities a server announces; None where it says nothing of them."""
    capabilities = result.get("capabilities")
    return tuple(sorted(capabilities)) if isinstance(capabilities, dict) else None


def _supported(error: Mapping[str, Any]) -> list[str]:
    data = error.get("data")
    listed = data.get("supported") if isinstance(data, dict) else None
    if isinstance(listed, list):
        return [each for each in listed if isinstance(each, str)]
    requested = data.get("requested") if isinstance(data, dict) else None
    return [each for each in _DATE.findall(str(error.get("message"))) if each != requested]

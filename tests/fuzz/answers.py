"""Results of the methods that a session asks for: right, wrong in a part, or wrong as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.fuzz import grammar

_TOOL = {
    "name": "echo",
    "inputSchema": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "x-mcp-header": "Text"},
            "n": {"type": "integer"},
        },
        "required": ["text"],
    },
}
VALID: Mapping[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fuzz", "version": "1"},
    },
    "server/discover": {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
    },
    "tools/list": {"tools": [_TOOL, {"name": "null", "inputSchema": {}}], "nextCursor": None},
    "tools/call": {"content": [{"type": "text", "text": "x"}], "isError": False},
}
_REFUSALS = st.fixed_dictionaries({"error": grammar.mutated({"code": -32602, "message": "no"})})


def answer(valid: Any) -> SearchStrategy[Any]:
    """Mostly right, so that a session gets further, else wrong in a part, or as a whole."""
    right = st.just({"result": valid})
    wrong = st.fixed_dictionaries({"result": grammar.mutated(valid)})
    other = st.one_of(_REFUSALS, st.none(), grammar.junk.map(lambda any: {"result": any}))
    return grammar.weighted({right: 6, wrong: 3, other: 1})


def always(valid: Any) -> SearchStrategy[Any]:
    """An answer of some kind, since the setups of a whole run would wait for it."""
    wrong = st.fixed_dictionaries({"result": grammar.mutated(valid)})
    return grammar.weighted({st.just({"result": valid}): 2, wrong: 4, _REFUSALS: 1})


_LISTS = st.lists(grammar.weighted({st.just(_TOOL): 1, grammar.mutated(_TOOL): 3}), max_size=3)
ANSWERS = {
    **{name: answer(valid) for name, valid in VALID.items()},
    "tools/list": grammar.weighted(
        {
            _LISTS.map(lambda tools: {"result": {"tools": tools}}): 4,
            answer(VALID["tools/list"]): 1,
        }
    ),
}

"""The well-behaved server: both eras over stdio, two tools, nothing but the standard library."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]

KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {}}}},
    {"name": "fail", "inputSchema": {"type": "object"}},
]


def result_of(message: Message) -> Message | None:
    """The result of a request; None for a method that is not known."""
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            proposed = params["protocolVersion"]
            return {
                "protocolVersion": proposed if proposed in KNOWN else KNOWN[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "trivial", "version": "1"},
            }
        case "server/discover":
            return {
                "resultType": "complete",
                "supportedVersions": [STATELESS],
                "capabilities": {"tools": {}},
            }
        case "tools/list":
            caching = {"ttlMs": 0, "cacheScope": "private"}
            return {"resultType": "complete", "tools": TOOLS, **caching}
        case "tools/call":
            return called(params["name"], params.get("arguments") or {})
        case "ping":
            return {}
    return None


def called(tool: str, arguments: Message) -> Message:
    """What a tool says; `echo` gives its text back."""
    text = str(arguments.get("text", ""))
    content = [{"type": "text", "text": text}]
    return {"resultType": "complete", "content": content, "isError": tool != "echo"}


def reply_to(message: Message) -> Message | None:
    """The response to a request; None where none is due."""
    if "id" not in message or "method" not in message:
        return None
    found = result_of(message)
    if found is None:
        return refusal(message["id"], -32601, "Method not found")
    return {"jsonrpc": "2.0", "id": message["id"], "result": found}


def refusal(id: object, code: int, words: str) -> Message:
    """An error response."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}}


def encoded(message: object) -> bytes:
    """The bytes of a message, without a line end."""
    return json.dumps(message, ensure_ascii=False).encode()


def say(message: object) -> None:
    """One message as one line on standard output."""
    shout(encoded(message) + b"\n")


def shout(line: bytes) -> None:
    """These bytes on standard output, at once and all of them."""
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def heard() -> Iterator[Message]:
    """Every message on standard input, until its end."""
    for line in sys.stdin.buffer:
        yield json.loads(line)


def serve(answer: Callable[[Message], Message | None] = reply_to) -> None:
    """Answer what is heard until standard input ends."""
    for message in heard():
        reply = answer(message)
        if reply is not None:
            say(reply)


def is_call(message: Message) -> bool:
    """Whether it asks for a tool."""
    return message.get("method") == "tools/call"


def leave() -> None:
    """Be gone at once, as by a crash."""
    os._exit(9)


if __name__ == "__main__":
    serve()

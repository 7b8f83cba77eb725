"""What is wrong with bytes that are no message, named, so that a call ends at once; without I/O."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from bench import jsonrpc

_HALF = re.compile(rb"(?<!\\)\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F])")
MOST_SPREAD_LINES, MOST_SPREAD_BYTES = 1_000, 1 << 20


class Fault(NamedTuple):
    """A framing mistake; `id` is the request it hides the reply to, None for all of them."""

    why: str
    id: jsonrpc.Id


LSP = Fault(
    "lsp_framing: the server sends Content-Length headers as language servers do; "
    "MCP over stdio is one JSON message a line",
    None,
)


def of_text(body: bytes) -> str | None:
    """`invalid_utf8` with the first wrong byte; JSON-RPC messages are UTF-8 (basic/transports)."""
    if body.isascii():
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid_utf8: byte 0x{body[error.start]:02x} at offset {error.start} of the reply"
    return None


class Suspicion:
    """Lines that are no messages, watched for the mistakes that leave a call waiting.

    A log may print a brace too: only what is a reply but for the mistake convicts.
    """

    def __init__(self) -> None:
        self._spread: list[bytes] = []
        self._spread_bytes = 0

    def after(self, line: bytes, *, heard: bool) -> Fault | None:
        """What this line, with those before it, proves; `heard` once a good reply has come."""
        if not heard and line[:15].lower() == b"content-length:":
            return LSP
        if line[:1] == b"{" and line.rstrip() != b"{":
            return _almost_json(line)
        return self._spread_over(line)

    def _spread_over(self, line: bytes) -> Fault | None:
        """A pretty-printed reply, once its last line is there."""
        if line.rstrip() == b"{":
            self._forget()
        elif not self._spread:
            return None
        self._spread.append(line)
        self._spread_bytes += len(line)
        if len(self._spread) > MOST_SPREAD_LINES or self._spread_bytes > MOST_SPREAD_BYTES:
            self._forget()
        if not self._spread or line.rstrip() != b"}":
            return None
        envelope = jsonrpc.read(b"\n".join(self._spread))
        self._forget()
        if envelope is None or envelope.kind != "response":
            return None
        why = "embedded_newline: the server spreads a message over several lines"
        return Fault(why, envelope.id if isinstance(envelope.id, int | float | str) else None)

    def _forget(self) -> None:
        self._spread, self._spread_bytes = [], 0


def _almost_json(line: bytes) -> Fault | None:
    """What Python's reader takes and the standard does not: NaN, half a surrogate pair (RFC 8259).

    Servers send them: `json.dumps` writes NaN, `JSON.stringify` half of a letter cut in two.
    """
    constants: list[str] = []
    try:
        found = json.loads(line.decode("utf-8", "replace"), parse_constant=constants.append)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not found.keys() & {"result", "error"} or "method" in found:
        return None
    id = found.get("id")
    if not isinstance(id, int | float | str) or isinstance(id, bool):
        return None
    return Fault(f"invalid_json: {_what_is_wrong(line, constants)}", id)


def _what_is_wrong(line: bytes, constants: list[str]) -> str:
    half = _HALF.search(line)
    if constants:
        return f"{constants[0]} is no JSON"
    if half is not None:
        return f"{half[0].decode('ascii', 'replace')} is half of a surrogate pair"
    return jsonrpc.why_unreadable(line)

"""What is wrong with bytes that are no message, named, so that a call ends at once; without I/O."""

from __future__ import annotations

from typing import NamedTuple

from bench import jsonrpc

MOST_SPREAD_LINES = 1_000


class Fault(NamedTuple):
    """A framing mistake; `id` is the request it hides the reply to, None for all of them."""

    why: str
    id: jsonrpc.Id


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
    """Lines that are no messages, watched for the two mistakes that leave a call waiting.

    A log may print a brace too: only lines that together are a reply convict.
    """

    def __init__(self) -> None:
        self._spread: list[bytes] = []

    def after(self, line: bytes, *, heard: bool) -> Fault | None:
        """What this line, with those before it, proves; `heard` once a good reply has come."""
        if not heard and line[:15].lower() == b"content-length:":
            return Fault(
                "lsp_framing: the server sends Content-Length headers as language servers do; "
                "MCP over stdio is one JSON message a line",
                None,
            )
        if line.rstrip() == b"{":
            self._spread = []
        elif not self._spread:
            return None
        self._spread.append(line)
        if line.rstrip() != b"}" and len(self._spread) < MOST_SPREAD_LINES:
            return None
        envelope = jsonrpc.read(b"\n".join(self._spread))
        self._spread = []
        if envelope is None or envelope.kind != "response":
            return None
        why = "embedded_newline: the server spreads a message over several lines"
        return Fault(why, envelope.id if isinstance(envelope.id, int | float | str) else None)

"""What is wrong with bytes that are no message, named, so that a call ends at once; without I/O."""

from __future__ import annotations


def of_text(body: bytes) -> str | None:
    """`invalid_utf8` with the first wrong byte; JSON-RPC messages are UTF-8 (basic/transports)."""
    if body.isascii():
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid_utf8: byte 0x{body[error.start]:02x} at offset {error.start} of the reply"
    return None


def of_line(line: bytes) -> str | None:
    """The framing mistake that a line which is no message betrays, else None: it is noise."""
    start = line.lstrip()
    if start[:15].lower() == b"content-length:":
        return (
            "lsp_framing: the server sends Content-Length headers as language servers do; "
            "MCP over stdio is one JSON message a line"
        )
    if start.rstrip() in (b"{", b"["):
        return "embedded_newline: the server spreads a message over several lines"
    return None

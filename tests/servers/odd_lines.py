"""Replies with odd bytes that are valid all the same (cases W3, W4): one oddity a call."""

from collections.abc import Callable

from tests.servers.trivial import Message, encoded, heard, is_call, reply_to, shout


def crlf(line: bytes) -> bytes:
    """Ends in CR LF."""
    return line + b"\r\n"


def separators(line: bytes) -> bytes:
    """Holds U+2028, U+2029 and U+0085 as they are: they end no line."""
    return line.replace(b"odd", "od\u2028\u2029\u0085d".encode()) + b"\n"


def bare_cr(line: bytes) -> bytes:
    """Has a CR between two tokens, which is JSON white space."""
    return line.replace(b'"result":', b'\r"result":\r') + b"\n"


def escaped(line: bytes) -> bytes:
    """Has a vertical tab, escaped."""
    return line.replace(b"odd", b"o\\u000bdd") + b"\n"


def bytewise(line: bytes) -> bytes:
    """Is written in single bytes."""
    for byte in line:
        shout(bytes([byte]))
    return b"\n"


ODDITIES: tuple[Callable[[bytes], bytes], ...] = (crlf, separators, bare_cr, escaped, bytewise)


def main() -> None:
    """Begin with a byte order mark, then one oddity a call."""
    shout(b"\xef\xbb\xbf")
    calls = 0
    for message in heard():
        reply = odd(reply_to(message))
        if reply is None:
            continue
        dress = ODDITIES[calls % len(ODDITIES)] if is_call(message) else crlf
        calls += is_call(message)
        shout(dress(encoded(reply)))


def odd(reply: Message | None) -> Message | None:
    """Calls are answered with the word that the oddities replace."""
    if reply is not None and "content" in reply.get("result", {}):
        reply["result"]["content"] = [{"type": "text", "text": "odd"}]
    return reply


main()

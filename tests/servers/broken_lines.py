"""A call's reply can never be read, by the fault named; later ones are good (W1, W3 and kin)."""

import json
import sys

from tests.servers.trivial import Message, encoded, heard, is_call, reply_to, shout

FAULT = sys.argv[1]
LOG = b'{\n  "level": "info",\n  "id": 3\n}\n'


def broken(reply: Message) -> bytes:
    """The first call's reply as such a server sends it."""
    if FAULT == "byte":
        return encoded(reply).replace(b'"text": "', b'"text": "\x97') + b"\n"
    if FAULT == "nan":
        reply["result"]["structuredContent"] = {"mean": float("nan")}
        return encoded(reply) + b"\n"
    if FAULT == "half":
        return encoded(reply).replace(b'"text": "', b'"text": "\\ud83d') + b"\n"
    if FAULT == "batch":
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        return encoded([note, reply]) + b"\n"
    if FAULT == "code":
        error = {"code": 10**30, "message": "x"}
        return encoded({"jsonrpc": "2.0", "id": reply["id"], "error": error}) + b"\n"
    if FAULT == "log":
        return LOG + encoded(reply) + b"\n"
    return json.dumps(reply, indent=2).encode() + b"\n"


def framed(reply: Message) -> bytes:
    """As language servers do it, from the first message on."""
    line = encoded(reply)
    return b"Content-Length: %d\r\n\r\n%b" % (len(line), line)


calls = 0
for message in heard():
    answer = reply_to(message)
    if answer is None:
        continue
    calls += is_call(message)
    if FAULT == "lsp":
        shout(framed(answer))
    else:
        shout(broken(answer) if is_call(message) and calls == 1 else encoded(answer) + b"\n")

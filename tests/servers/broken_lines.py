"""The first call's reply can never be read, by the fault named; later ones are good (W1, W3)."""

import json
import sys

from tests.servers.trivial import encoded, heard, is_call, reply_to, shout

FAULT = sys.argv[1]


def broken(reply: object) -> bytes:
    """The reply as such a server sends it."""
    if FAULT == "byte":
        return encoded(reply).replace(b'"text": "', b'"text": "\x97') + b"\n"
    if FAULT == "pretty":
        return json.dumps(reply, indent=2).encode() + b"\n"
    line = encoded(reply)
    return b"Content-Length: %d\r\n\r\n%b\n" % (len(line), line.replace(b'"id"', b'"no"'))


calls = 0
for message in heard():
    answer = reply_to(message)
    if answer is not None:
        calls += is_call(message)
        shout(broken(answer) if is_call(message) and calls == 1 else encoded(answer) + b"\n")

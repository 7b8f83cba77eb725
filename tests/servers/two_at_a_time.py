"""Tells how many messages it has found at once, at most; more than two it would not get (L10)."""

import json
import os

from tests.servers.trivial import is_call, reply_to, say

most, rest = 0, b""
while chunk := os.read(0, 1 << 16):
    *lines, rest = (rest + chunk).split(b"\n")
    most = max(most, len(lines))
    for line in lines[:2]:
        message = json.loads(line)
        reply = reply_to(message)
        if reply is not None and is_call(message):
            reply["result"]["content"] = [{"type": "text", "text": str(most)}]
        if reply is not None:
            say(reply)

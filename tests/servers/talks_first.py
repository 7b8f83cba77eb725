"""Writes 1 MiB before it reads on: deadlocks a client that does not read while it writes (W5)."""

from tests.servers.trivial import heard, is_call, reply_to, say

SIZE = 1 << 20

for message in heard():
    reply = reply_to(message)
    if reply is not None and is_call(message):
        reply["result"]["content"] = [{"type": "text", "text": "x" * SIZE}]
    if reply is not None:
        say(reply)

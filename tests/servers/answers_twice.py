"""Answers each listing of tools twice, under the same id (case W9)."""

from tests.servers.trivial import heard, reply_to, say

for message in heard():
    reply = reply_to(message)
    if reply is not None:
        for _ in range(2 if message["method"] == "tools/list" else 1):
            say(reply)

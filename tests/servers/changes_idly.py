"""Announces a changed list three times after each reply; nobody has to ask for it again (W15)."""

from tests.servers.trivial import heard, is_call, reply_to, say

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

listed = 0
for message in heard():
    listed += message.get("method") == "tools/list"
    reply = reply_to(message)
    if reply is None:
        continue
    if is_call(message):
        reply["result"]["content"] = [{"type": "text", "text": str(listed)}]
    say(reply)
    for _ in range(3):
        say(CHANGED)

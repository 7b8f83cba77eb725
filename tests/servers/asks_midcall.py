"""Asks the client in the middle of a call, under our own ids, and waits for both answers (W11)."""

from tests.servers.trivial import heard, is_call, reply_to, say

messages = heard()
for message in messages:
    reply = reply_to(message)
    if is_call(message):
        say({"jsonrpc": "2.0", "id": message["id"], "method": "ping"})
        pong = next(messages)
        say({"jsonrpc": "2.0", "id": message["id"], "method": "roots/list"})
        refused = next(messages)
        assert reply is not None
        reply["result"]["content"] = [{"type": "text", "text": repr([pong, refused])}]
    if reply is not None:
        say(reply)

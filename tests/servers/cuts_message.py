"""Writes 65,536 bytes of a reply to a call and leaves before the line ends (case W5)."""

from tests.servers.trivial import encoded, heard, is_call, leave, reply_to, say, shout

for message in heard():
    reply = reply_to(message)
    if reply is not None and is_call(message):
        reply["result"]["content"] = [{"type": "text", "text": "x" * 70_000}]
        shout(encoded(reply)[:65_536])
        leave()
    if reply is not None:
        say(reply)

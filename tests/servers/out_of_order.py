"""Collects three calls and answers them last first, twice, with other messages in between."""

from tests.servers.trivial import Message, heard, is_call, reply_to, say


def answered(held: list[Message]) -> None:
    """Each reply comes after a stranger's, a string that looks like its id, and news."""
    for message in reversed(held):
        reply = reply_to(message)
        assert reply is not None
        say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        say({**reply, "id": message["id"] + 1_000})
        say({**reply, "id": str(message["id"])})
        say(reply)
        say(reply)


held: list[Message] = []
for message in heard():
    if is_call(message):
        held.append(message)
        if len(held) == 3:
            answered(held)
            held.clear()
    elif (reply := reply_to(message)) is not None:
        say(reply)

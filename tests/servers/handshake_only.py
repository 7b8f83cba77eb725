"""Speaks the handshake era alone: else an error, `quiet` nothing, `mortal` the end of it."""

import sys

from tests.servers.trivial import Message, leave, refusal, reply_to, serve

OLD = ("initialize", "tools/list", "tools/call", "ping")


def answer(message: Message) -> Message | None:
    """As a server that has never heard of `server/discover`; its results have no resultType."""
    if "id" in message and message["method"] not in OLD:
        if "mortal" in sys.argv:
            leave()
        return None if "quiet" in sys.argv else refusal(message["id"], -32601, "Method not found")
    reply = reply_to(message)
    if reply is not None and "result" in reply:
        reply["result"].pop("resultType", None)
    return reply


if __name__ == "__main__":
    serve(answer)

"""Offers the VERSION it is told, whatever is proposed (case W22); only the handshake era."""

import sys

from tests.servers.trivial import Message, refusal, reply_to, serve

OFFERED = sys.argv[-1]


def answer(message: Message) -> Message | None:
    """The usual reply, with that version."""
    if message["method"] == "server/discover":
        return refusal(message["id"], -32601, "Method not found")
    reply = reply_to(message)
    if reply is not None and message["method"] == "initialize":
        reply["result"]["protocolVersion"] = OFFERED
    return reply


if __name__ == "__main__":
    serve(answer)

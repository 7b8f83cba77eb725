"""Agrees to whatever version it is asked for, without knowing it (case W22)."""

from tests.servers.trivial import Message, reply_to, serve


def answer(message: Message) -> Message | None:
    """The usual reply, with the version that was proposed."""
    reply = reply_to(message)
    if reply is not None and message["method"] == "initialize":
        reply["result"]["protocolVersion"] = message["params"]["protocolVersion"]
    return reply


if __name__ == "__main__":
    serve(answer)

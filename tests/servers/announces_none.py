"""Has tools, but announces none, as where they are registered too late; both eras."""

from tests.servers.trivial import Message, reply_to, serve


def answer(message: Message) -> Message | None:
    """The usual reply, with nothing but logging among the capabilities."""
    reply = reply_to(message)
    if reply is not None and "capabilities" in reply.get("result", {}):
        reply["result"]["capabilities"] = {"logging": {}}
    return reply


if __name__ == "__main__":
    serve(answer)

"""Knows no tool when it is called: -32602, as the channel for the client's code."""

from tests.servers.trivial import Message, is_call, refusal, reply_to, serve


def answer(message: Message) -> Message | None:
    """A refusal of every call to `echo`; `fail` is reached, and says so with isError."""
    if is_call(message) and message["params"]["name"] == "echo":
        return refusal(message["id"], -32602, "Unknown tool: echo")
    return reply_to(message)


if __name__ == "__main__":
    serve(answer)

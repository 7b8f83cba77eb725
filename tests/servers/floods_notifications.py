"""Sends 10,000 progress notifications of 200 bytes before the reply to each call (case W15)."""

from tests.servers.trivial import Message, encoded, is_call, reply_to, serve, shout

NEWS = encoded(
    {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "x" * 90},
    }
)
FLOOD = 10_000


def answer(message: Message) -> Message | None:
    """The reply after the flood."""
    if is_call(message):
        shout((NEWS + b"\n") * FLOOD)
    return reply_to(message)


if __name__ == "__main__":
    serve(answer)

"""Takes 200 ms to list its tools: a client that lists behind a call's back is found out (S6)."""

import select

from tests.servers.trivial import Message, reply_to, serve

SLOW_S = 0.2


def answer(message: Message) -> Message | None:
    """As the well-behaved server does, some later where tools are listed."""
    if message.get("method") == "tools/list":
        select.select([], [], [], SLOW_S)
    return reply_to(message)


if __name__ == "__main__":
    serve(answer)

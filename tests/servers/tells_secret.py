"""Says the value of MY_VALUE wherever it can: on standard error, as noise, and in replies."""

import os
import sys

from tests.servers.trivial import Message, is_call, reply_to, serve, shout

VALUE = os.environ["MY_VALUE"]


def answer(message: Message) -> Message | None:
    """The usual reply, with the value in it."""
    reply = reply_to(message)
    if reply is not None and is_call(message):
        reply["result"]["content"] = [{"type": "text", "text": f"echo {VALUE}"}]
    return reply


if __name__ == "__main__":
    sys.stderr.write(f"starting with {VALUE}\n")
    shout(f"value is {VALUE}\n".encode())
    serve(answer)

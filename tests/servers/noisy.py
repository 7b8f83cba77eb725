"""A banner, blank lines and log lines on standard output, where only messages belong (case W1)."""

import sys

from tests.servers.trivial import Message, is_call, reply_to, serve, shout

calls = 0


def answer(message: Message) -> Message | None:
    """A reply, in one place with a log line before it."""
    global calls
    calls += is_call(message)
    if is_call(message) and calls == 4:
        shout(b"debug: x\n")
    return reply_to(message)


shout(b"Ready on stdio\n\n  \n")
if "mute" in sys.argv:
    serve(lambda _: None)
serve(answer)

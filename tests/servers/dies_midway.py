"""Answers two calls and dies in the third; `OTHER` launches, counted in a FILE, live on."""

import sys
from pathlib import Path

from tests.servers.trivial import Message, is_call, leave, reply_to, serve

launches = Path(sys.argv[1])
with launches.open("a") as file:
    file.write(".")
mortal = str(launches.stat().st_size) in sys.argv[2:]
calls = 0


def answer(message: Message) -> Message | None:
    """A reply, unless this is the call to die in."""
    global calls
    calls += is_call(message)
    if mortal and calls == 3:
        print("panic: out of tickets", file=sys.stderr, flush=True)
        leave()
    return reply_to(message)


serve(answer)

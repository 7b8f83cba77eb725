"""Writes 256 KiB to standard error before every reply."""

import sys

from tests.servers.trivial import Message, reply_to, serve

LINE = "x" * 1023 + "\n"


def answer(message: Message) -> Message | None:
    """A reply after much talk."""
    sys.stderr.write(LINE * 256)
    sys.stderr.flush()
    return reply_to(message)


serve(answer)

"""Reads everything and answers nothing; with `METHOD` only that method gets no answer."""

import sys

from tests.servers.trivial import Message, reply_to, serve


def answer(message: Message) -> Message | None:
    """Nothing to the method it was told, or to any."""
    quiet = sys.argv[1:] or [message["method"]]
    return None if message["method"] in quiet else reply_to(message)


serve(answer)

"""A tool of 100 ms, done one at a time (`serial`) or each in a thread of its own (L12)."""

import sys
import threading
import time

from tests.servers.trivial import Message, heard, is_call, reply_to, say

LOCK = threading.Lock()


def answer(message: Message) -> None:
    """Work, then reply."""
    if is_call(message):
        time.sleep(0.1)
    reply = reply_to(message)
    if reply is not None:
        with LOCK:
            say(reply)


if __name__ == "__main__":
    for message in heard():
        if sys.argv[1] == "threaded":
            threading.Thread(target=answer, args=(message,)).start()
        else:
            answer(message)

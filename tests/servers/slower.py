"""The well-behaved server, slower by what it is told.

µs of spinning in a call, ms in the start, and µs more in every fifth call.
"""

import itertools
import sys
import time

from tests.servers import trivial
from tests.servers.trivial import Message

CALL_US, START_MS, TAIL_US = (float(word) for word in (*sys.argv[1:4], "0")[:3])
calls = itertools.count()


def spin(wait_ns: float) -> None:
    """Be busy for so long."""
    end = time.perf_counter_ns() + wait_ns
    while time.perf_counter_ns() < end:
        pass


def answer(message: Message) -> Message | None:
    """Its reply, after the spin where it is a call."""
    if message["method"] == "tools/call":
        spin((CALL_US + TAIL_US * (next(calls) % 5 == 0)) * 1e3)
    return trivial.reply_to(message)


spin(START_MS * 1e6)
if __name__ == "__main__":
    trivial.serve(answer)

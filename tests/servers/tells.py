"""Tells a listener at PORT each time it has answered N more calls, and when its input ends.

This is how a test acts in the middle of a run: it waits for a line, not for a time. Calls take
2 ms. `mute` keeps silent; `stubborn` stays when it should leave.
"""

import select
import socket
import sys
import time

from tests.servers.stubborn import serve_for_ever
from tests.servers.trivial import Message, is_call, reply_to, serve

EVERY, CALL_S = 50, 0.002


class Telling:
    """Counts the calls."""

    def __init__(self, port: int) -> None:
        self.calls = 0
        self._listener = socket.create_connection(("127.0.0.1", port))

    def tell(self) -> None:
        """So many calls were answered before this stamp."""
        self._listener.sendall(f"{self.calls} {time.perf_counter_ns()}\n".encode())

    def answer(self, message: Message) -> Message | None:
        """A reply, and now and then word of it."""
        if is_call(message):
            if self.calls % EVERY == 0:
                self.tell()
            select.select([], [], [], CALL_S)
            self.calls += 1
        return reply_to(message)

    def mute(self, message: Message) -> Message | None:  # noqa: ARG002
        """No reply, but word that something came."""
        self.tell()
        return None


_, port, *manners = sys.argv
telling = Telling(int(port))
if "mute" in manners:
    serve(telling.mute)
elif "stubborn" in manners:
    serve_for_ever(telling.answer, telling.tell)
else:
    serve(telling.answer)

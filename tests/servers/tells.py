"""Tells a listener at PORT when it has answered each N calls, and goes on; calls take 2 ms.

The way for a test to act in the middle of a run: it waits for a connection, not for a time.
"""

import select
import socket
import sys

from tests.servers.trivial import Message, is_call, reply_to, serve

EVERY, CALL_S = 200, 0.002
calls = 0


def answer(message: Message) -> Message | None:
    """A reply, and word of it to the listener."""
    global calls
    if is_call(message):
        select.select([], [], [], CALL_S)
        calls += 1
        if calls % EVERY == 0:
            listener.sendall(f"{calls}\n".encode())
    return reply_to(message)


listener = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
serve(answer)

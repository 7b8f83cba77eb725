"""A tool of 100 ms in a pool of four workers (L13); tells how many were at work at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.servers.trivial import Message, heard, is_call, reply_to, say

WORKERS, WORK_S = 4, 0.1
LOCK = threading.Lock()
working = 0


def answer(message: Message) -> None:
    """Work, then say how many did."""
    global working
    with LOCK:
        working += 1
        seen = working
    time.sleep(WORK_S)
    reply = reply_to(message)
    assert reply is not None
    reply["result"]["content"] = [{"type": "text", "text": str(seen)}]
    with LOCK:
        working -= 1
        say(reply)


with ThreadPoolExecutor(WORKERS) as pool:
    for message in heard():
        if is_call(message):
            pool.submit(answer, message)
        elif (reply := reply_to(message)) is not None:
            with LOCK:
                say(reply)

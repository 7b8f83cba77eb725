"""Ignores TERM, INT and the end of its input: only KILL ends it (case W19)."""

import signal
from collections.abc import Callable

from tests.servers.trivial import Message, reply_to, serve


def serve_for_ever(
    answer: Callable[[Message], Message | None] = reply_to, ended: Callable[[], object] = int
) -> None:
    """Answer, and stay when there is nobody to answer any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(answer)
    ended()
    while True:
        signal.pause()


if __name__ == "__main__":
    serve_for_ever()

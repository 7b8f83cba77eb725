"""Ignores TERM and the end of its input: only KILL ends it (case W19)."""

import signal

from tests.servers.trivial import serve

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
serve()
while True:
    signal.pause()

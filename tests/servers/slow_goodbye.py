"""Leaves 300 ms after its input has ended (S8)."""

import time

from tests.servers.trivial import serve

serve()
time.sleep(0.3)

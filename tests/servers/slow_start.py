"""Takes 300 ms to start and answers at once from then on (S7)."""

import time

from tests.servers.trivial import serve

time.sleep(0.3)
serve()

"""Starts the real server, which is stubborn, and waits for it, as npx does with node (case W20).

`away` puts the real server into a session of its own; `leave` does not wait for it.
"""

import subprocess
import sys

child = subprocess.Popen(
    [sys.executable, "-m", "tests.servers.stubborn"],
    start_new_session="away" in sys.argv,
)
if "leave" not in sys.argv:
    child.wait()

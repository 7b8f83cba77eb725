"""Starts the real server, which is stubborn, and waits for it, as npx does with node (case W20).

`away` puts the real server into a session of its own; `quick` leaves at the end of the input.
"""

import subprocess
import sys

child = subprocess.Popen(
    [sys.executable, "-m", "tests.servers.stubborn", *sys.argv[1:]],
    start_new_session="away" in sys.argv,
)
child.wait()

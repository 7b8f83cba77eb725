"""Starts the real server, which is stubborn, and waits for it, as npx does with node (case W20).

The first word says how: `stay` waits, `leave` does not, `away` gives it a session of its own;
further words start another server than `stubborn`.
"""

import subprocess
import sys

_, how, *words = sys.argv
child = subprocess.Popen(
    [sys.executable, "-m", *(words or ["tests.servers.stubborn"])],
    start_new_session="away" in how,
)
if "leave" not in how:
    child.wait()

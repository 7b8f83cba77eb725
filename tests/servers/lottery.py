"""A launcher that takes as long as the words say, launch by launch as counted in a FILE (S1)."""

import os
import sys
import time
from pathlib import Path

_, file, *delays_s = sys.argv
with Path(file).open("a") as counted:
    counted.write(".")
time.sleep(float(delays_s[Path(file).stat().st_size - 1]))
os.execv(sys.executable, [sys.executable, "-m", "tests.servers.trivial"])

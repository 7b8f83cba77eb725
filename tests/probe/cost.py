"""What the probe costs a call: blocks with its hooks on and off, by signal, in one process.

`python -m tests.probe.cost [WORD…] [--blocks N]` prints the difference of the medians in µs with a
95 % bootstrap interval over pairs of blocks, and as a share of the call without the probe.
Client and server are bound to different cores.
"""

import argparse
import os
import signal
import tempfile
from pathlib import Path

import numpy as np

from bench.probe import environment
from tests.probe.client import STATELESS, Http, Session, Stdio
from tests.probe.proof import Setup, clean

SETUPS = [
    Setup("lowlevel2"),
    Setup("lowlevel2", "http", STATELESS),
    Setup("mcpserver2"),
    Setup("mcpserver2", "http"),
    Setup("lowlevel1"),
    Setup("fastmcp1"),
    Setup("fastmcp4"),
    Setup("fastmcp4", "http", STATELESS),
    Setup("ts1.mjs"),
    Setup("ts1.cjs"),
    Setup("ts1.mjs", "http", options=("--json",)),
    Setup("ts2.mjs"),
    Setup("ts2.mjs", "http", STATELESS),
    Setup("ts1-minified.cjs"),
]
SIZE = 64


def medians(
    setup: Setup, folder: Path, blocks: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Median call of each block in µs, even blocks with the hooks on, odd ones with them off."""
    env = environment(folder / "p-", clean()) | {"MCP_LATENCY_PROBE_TOGGLE": "1"}
    wire = Http if setup.transport == "http" else Stdio
    os.sched_setaffinity(0, {1})
    client = wire(setup.argv(), env, folder)
    os.sched_setaffinity(0, {0})
    session = Session(client, setup.era)
    session.open()
    for _ in range(1000):
        session.call("echo", [{"text": "a"}])
    found = []
    for _ in range(2 * blocks):
        calls = [session.call("echo", [{"text": "a"}])[0] for _ in range(SIZE + 4)][4:]
        found.append(float(np.median([call.received_ns - call.sent_ns for call in calls])) / 1000)
        client.process.send_signal(signal.SIGUSR2)
    client.close()
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--blocks", type=int, default=100)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    for setup in SETUPS:
        if not all(word in str(setup) for word in options.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            pairs = medians(setup, Path(folder), options.blocks).reshape(-1, 2)
        added = pairs[:, 0] - pairs[:, 1]
        picks = added[random.integers(0, len(added), (2000, len(added)))]
        low, high = np.percentile(np.median(picks, axis=1), [2.5, 97.5])
        off, middle = np.median(pairs[:, 1]), np.median(added)
        share = f"{100 * middle / off:+.1f} %"
        print(f"{setup!s:40} {middle:+6.1f} [{low:+.1f}, {high:+.1f}] µs of {off:6.0f}  {share}")


if __name__ == "__main__":
    main()

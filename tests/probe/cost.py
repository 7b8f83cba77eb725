"""What the probe costs a call, in µs and as a share of the call without it.

`python -m tests.probe.cost [WORD…] [--blocks N] [--servers N]`

Servers with the probe and without live at the same time and are called in turns, a block of calls
each: the difference of their medians, per pair of blocks, with a 95 % bootstrap interval. This is
what a run pays. `--toggle` switches the hooks of one server off and on by signal instead: it needs
no second process, but each switch costs a just-in-time compiler what it has learned, so a Node.js
server looks up to 15 µs dearer than it is. Clients and servers are bound to different cores.
"""

import argparse
import contextlib
import os
import signal
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
SIZE, AFTER_SWITCH, WARM = 64, 4, 2000
Blocks = NDArray[np.float64]  # medians in µs: a row for each pair of blocks, with and without


def fresh(setup: Setup, folder: Path, *, blocks: int, servers: int) -> Blocks:
    """Blocks of `servers` servers with the probe beside as many without, called in turns."""
    with contextlib.ExitStack() as stack:
        sessions = []
        for number in range(2 * servers):
            own = folder / str(number)
            own.mkdir()
            env = environment(own / "p-", clean()) if number % 2 == 0 else clean()
            sessions.append(opened(setup, own, env))
            stack.callback(sessions[-1].client.close)
        for _ in range(WARM // SIZE):
            for session in sessions:
                block(session)
        found = [[block(session) for session in sessions] for _ in range(blocks)]
    return np.array(found).reshape(-1, 2)


def toggled(setup: Setup, folder: Path, *, blocks: int) -> Blocks:
    """Blocks of one server, its hooks on and off by turns."""
    session = opened(setup, folder, environment(folder / "p-", clean()) | TOGGLE)
    for _ in range(WARM // SIZE):
        block(session)
    found = []
    for _ in range(2 * blocks):
        found.append(block(session))
        session.client.process.send_signal(signal.SIGUSR2)
    session.client.close()
    return np.array(found).reshape(-1, 2)


TOGGLE = {"MCP_LATENCY_PROBE_TOGGLE": "1"}


def opened(setup: Setup, folder: Path, env: dict[str, str]) -> Session:
    wire = Http if setup.transport == "http" else Stdio
    os.sched_setaffinity(0, {1})
    client = wire(setup.argv(), env, folder)
    os.sched_setaffinity(0, {0})
    session = Session(client, setup.era)
    session.open()
    return session


def block(session: Session) -> float:
    calls = [session.call("echo", [{"text": "a"}])[0] for _ in range(AFTER_SWITCH + SIZE)]
    durations = [call.received_ns - call.sent_ns for call in calls[AFTER_SWITCH:]]
    return float(np.median(durations)) / 1000


def line(setup: Setup, found: Blocks) -> str:
    random = np.random.default_rng(1)
    added = found[:, 0] - found[:, 1]
    picks = added[random.integers(0, len(added), (2000, len(added)))]
    low, high = np.percentile(np.median(picks, axis=1), [2.5, 97.5])
    off, middle = np.median(found[:, 1]), np.median(added)
    share = f"{100 * middle / off:+.1f} %"
    return f"{setup!s:40} {middle:+6.1f} [{low:+.1f}, {high:+.1f}] µs of {off:6.0f}  {share}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--toggle", action="store_true")
    options = parser.parse_args()
    for setup in SETUPS:
        if not all(word in str(setup) for word in options.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if options.toggle:
                found = toggled(setup, Path(folder), blocks=options.blocks)
            else:
                counts = {"blocks": options.blocks, "servers": options.servers}
                found = fresh(setup, Path(folder), **counts)
        print(line(setup, found), flush=True)


if __name__ == "__main__":
    main()

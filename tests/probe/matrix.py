"""Every combination that the probe is meant for, one line each: complete, or what is missing.

`python -m tests.probe.matrix [WORD…] [--sequential N] [--bursts N]`; words select by name.
"""

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path

from tests.probe.client import STATEFUL, STATELESS
from tests.probe.proof import Setup, clean, faults, lines, prove

TOOLS = {
    "lowlevel2": ("spin",),
    "mcpserver2": ("spin", "spin_sync"),
    "lowlevel1": ("spin",),
    "fastmcp1": ("spin", "spin_sync"),
    "fastmcp4": ("spin", "spin_sync"),
}
ERAS = {
    "lowlevel2": (STATEFUL, STATELESS),
    "mcpserver2": (STATEFUL, STATELESS),
    "lowlevel1": (STATEFUL,),
    "fastmcp1": (STATEFUL,),
    "fastmcp4": (STATEFUL, STATELESS),
}
MODES = ((), ("--json",), ("--stateless",), ("--json", "--stateless"))


def python_setups() -> list[Setup]:
    """SDK × transport × era × sync or async × response mode × parser."""
    setups = []
    for server, tools in TOOLS.items():
        for tool, era in product(tools, ERAS[server]):
            setups.append(Setup(server, "stdio", era, tool))
            setups += [Setup(server, "http", era, tool, mode) for mode in MODES]
            setups.append(Setup(server, "http", era, tool, ("--parser", "h11")))
        if server in {"lowlevel2", "fastmcp4"}:
            setups.append(Setup(server, "http", ERAS[server][-1], "spin", ("--loop", "uvloop")))
    return setups


def node_setups() -> list[Setup]:
    """SDK × build × transport × era × sync or async × response mode."""
    setups = []
    for build in ("ts1.mjs", "ts1.cjs", "ts1-plain.cjs", "ts1-minified.cjs"):
        setups += [Setup(build, "stdio", STATEFUL, tool) for tool in ("spin", "spin_sync")]
        setups.append(Setup(build, "stdio", STATEFUL, "spin", ("--lowlevel",)))
        for mode in (*MODES, ("--lowlevel",)):
            setups.append(Setup(build, "http", STATEFUL, "spin", mode))
        setups.append(Setup(build, "http", STATEFUL, "spin_sync"))
    for build in ("ts2.mjs", "ts2.cjs", "ts2-plain.cjs", "ts2-minified.cjs"):
        for era, transport in product((STATEFUL, STATELESS), ("stdio", "http")):
            setups += [Setup(build, transport, era, tool) for tool in ("spin", "spin_sync")]
            setups.append(Setup(build, transport, era, "spin", ("--lowlevel",)))
        for mode in (("--json",), ("--sse",)):
            setups.append(Setup(build, "http", STATELESS, "spin", mode))
    return setups


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--sequential", type=int, default=200)
    parser.add_argument("--bursts", type=int, default=12)
    options = parser.parse_args()
    failed = 0
    for setup in python_setups() + node_setups():
        if not all(word in str(setup) for word in options.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            counts = {"sequential": options.sequential, "bursts": options.bursts}
            proof = prove(setup, Path(folder), env=clean(), **counts)
            found = faults(setup, proof)
        failed += bool(found)
        print(*lines([(setup, found)]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

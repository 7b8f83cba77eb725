"""Write the lock files of all recipes from their needs, as `make lock` does."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench import needs

LIMIT_S = 600.0


def main() -> None:
    """Lock each recipe's PyPI packages by itself, and the npm packages of all in one."""
    everywhere: dict[str, str] = {}
    somewhere: dict[str, str] = {}
    for _, folder, need in needs.read_recipes():
        if need.pip:
            lock_pip(folder, need.pip)
        for spec in need.npm:
            package, _, version = spec.rpartition("@")
            (somewhere if need.platform else everywhere)[package] = version
    lock_npm(needs.recipes(), everywhere, somewhere)


def lock_pip(folder: Path, pip: Sequence[str]) -> None:
    """Resolve `pip` into hashes; COMPILE is the Makefile's command line for it."""
    command = [*shlex.split(os.environ["COMPILE"]), "-", "-o", str(folder / needs.PIP_LOCK)]
    subprocess.run(command, input="\n".join(pip), text=True, check=True, timeout=LIMIT_S)


def lock_npm(folder: Path, everywhere: dict[str, str], somewhere: dict[str, str]) -> None:
    """Resolve versions of packages into hashes, without the address of a registry.

    A package that runs on one platform only is left out on the others, as an optional one.
    """
    package = {
        "name": "mcp-latency-servers",
        "private": True,
        "dependencies": everywhere,
        "optionalDependencies": somewhere,
    }
    (folder / "package.json").write_text(json.dumps(package, indent=2, sort_keys=True) + "\n")
    options = ["--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"]
    command = [*needs.npm_command(), "install", *options, "--no-audit", "--no-fund"]
    subprocess.run(command, cwd=folder, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()

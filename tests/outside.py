"""The program and its servers from outside, as users meet them: processes, words and exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import psutil

from bench import store
from bench.errors import FINE, INVALID
from bench.measure import loop_options
from bench.model import Cell, Endpoint, EraName, HttpRecipe, Limits, Server, Turn
from bench.process import Environment
from bench.recorder import Clock, Recorder
from bench.session import Session, launch
from bench.wire.connection import Connection
from bench.wire.way import Way

T = TypeVar("T")

PATIENCE_S = 60.0
TAG = "MCP_LATENCY_TEST"
QUICK = ("--era", "stateful", "-r", "2", "-n", "3", "-w", "0", "--pin", "none", "--seed", "1")


def module(name: str, *words: str) -> tuple[str, ...]:
    """The command line of a server of `tests/servers`."""
    return (sys.executable, "-m", f"tests.servers.{name}", *words)


class Said(NamedTuple):
    """How the program ended, and all that it said and left."""

    code: int
    out: str
    err: str
    left: Sequence[psutil.Process]
    folder: Path

    @property
    def verdict(self) -> int:
        """The exit code, but for the one doubt that is a matter of timing: a client-bound cell."""
        if self.code != INVALID or not self.out:
            return self.code
        cells = self.document["cells"]
        ok = all(cell["calls"] == cell["outcomes"]["ok"] > 0 for cell in cells)
        return FINE if ok and any(cell.get("client_bound") for cell in cells) else INVALID

    @property
    def run(self) -> store.Run:
        """What it stored."""
        return store.read(self.folder / self.document["path"])

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed: strict JSON and nothing beside it."""
        found: dict[str, Any] = json.loads(self.out, parse_constant=_no_constant)
        return found

    @property
    def cell(self) -> dict[str, Any]:
        """The only cell of the document."""
        (cell,) = self.document["cells"]
        found: dict[str, Any] = cell
        return found


class Program:
    """`python -m bench` in a folder of its own; results go to `results` in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = uuid.uuid4().hex

    def __call__(self, *words: str) -> Said:
        """Run one verb to its end."""
        started = self.start(*words)
        return self.ended(started)

    def run(self, server: str, *words: str, options: Sequence[str] = ()) -> Said:
        """`run --json` of a server of `tests/servers` over stdio, few launches, few calls."""
        self.recipe(server, stdio=toml(module(server, *words)))
        self.scenario("small", f'servers = ["{server}"]\n[[call]]\ntool = "echo"\n')
        return self("run", "small", "--json", *QUICK, *options)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start one verb."""
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *words],
            cwd=self.folder,
            env={**os.environ, TAG: self.tag},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self, started: subprocess.Popen[str]) -> Said:
        """Wait for its end; what of it still runs then is left, and ended by us."""
        try:
            out, err = started.communicate(timeout=PATIENCE_S)
        finally:
            started.kill()
            left = self.left()
            for each in left:
                each.kill()
        return Said(started.returncode, out, err, left, self.folder)

    def left(self) -> list[psutil.Process]:
        """Processes that this program started, or that they started, and that still run."""
        return [each for each in psutil.process_iter() if _tag(each) == self.tag]

    def results(self) -> Path:
        """The newest results folder."""
        return max((self.folder / "results").iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def recipe(self, name: str, **keys: str) -> None:
        """Make a server known in the program's folder; values are TOML."""
        folder = self.folder / "scenarios" / "servers" / name
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key} = {value}\n" for key, value in keys.items())
        (folder / "recipe.toml").write_text(text, "utf-8")

    def scenario(self, name: str, text: str) -> None:
        """Make a scenario known in the program's folder."""
        folder = self.folder / "scenarios"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.toml").write_text(text, "utf-8")


def toml(words: Sequence[str]) -> str:
    """A list of words as TOML, which reads JSON's."""
    return json.dumps(list(words))


def conversing(main: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine as the program does, and end it rather than hang."""

    async def limited() -> T:
        with anyio.fail_after(PATIENCE_S):
            return await main()

    return anyio.run(limited, backend_options=loop_options())


def stdio_server(name: str, *words: str) -> Server:
    """A server of `tests/servers` over stdio."""
    return Server(name=name, stdio=module(name, *words))


def http_server(url: str, *headers: tuple[str, str]) -> Server:
    """A server that runs already."""
    return Server(name="http", http=HttpRecipe(url=url), headers=headers)


@contextlib.asynccontextmanager
async def opened(
    server: Server,
    *,
    era: EraName = "stateful",
    version: str | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[tuple[Session, Recorder]]:
    """A session of which nothing has been said yet, and what records it."""
    (transport, *_) = server.transports
    cell = Cell(
        name="cell",
        scenario="",
        server=server.name,
        transport=transport,
        era=era,
        protocol_version=version,
    )
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=True)
    given = limits or Limits(call_s=20.0, setup_s=20.0)
    async with launch(server, cell, recorder, Environment(limit_s=20.0), given) as session:
        yield session, recorder


class Listening(NamedTuple):
    """A server of `tests/servers` that listens: where, and what it has seen."""

    base: str

    def seen(self) -> Mapping[str, Any]:
        """Its connections and requests, as it counts them."""
        with urllib.request.urlopen(f"{self.base}/seen", timeout=PATIENCE_S) as response:
            found: Mapping[str, Any] = json.load(response)
            return found


@contextlib.contextmanager
def listening(name: str, *words: str) -> Iterator[Listening]:
    """Start a server on a free port, which it tells, and end it."""
    with subprocess.Popen(module(name, "0", *words), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield Listening(f"http://127.0.0.1:{port}")
        finally:
            process.kill()


@contextlib.contextmanager
def listener() -> Iterator[socket.socket]:
    """A socket that listens on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.settimeout(PATIENCE_S)
        yield found


def port_of(found: socket.socket) -> int:
    """Its port."""
    port: int = found.getsockname()[1]
    return port


def _tag(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(TAG)
    except (psutil.Error, OSError):
        return None


def _no_constant(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


async def connected(port: int, clock: Clock) -> Connection:
    """A connection of our own client to a port of this machine."""
    way = Way(Endpoint(url=f"http://127.0.0.1:{port}/mcp"))
    return (await way.connect(clock))[0]

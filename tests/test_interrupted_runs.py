"""What was measured is kept, whatever ends the program: Ctrl-C, TERM, KILL, half a record."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

import psutil
import pyarrow as pa
import pytest

from bench import store
from bench.errors import FINE, INTERRUPTED
from bench.recorder import SYSTEM_CLOCK
from tests.outside import PATIENCE_S, Program, listener, module, port_of, toml

SECOND_NS = 1_000_000_000
ENDLESS = 'servers = ["telling"]\ncalls = 1000000\n[[call]]\ntool = "echo"\n'


class Word(NamedTuple):
    """What the server tells: so many calls were answered before this stamp."""

    calls: int
    at_ns: int


class Running(NamedTuple):
    """A run that does not end by itself, and what its server tells."""

    started: Popen[str]
    told: Iterator[Word]


@contextmanager
def _running(program: Program, *manners: str, through: tuple[str, ...] = ()) -> Iterator[Running]:
    """Start a run of a server that tells how far it is, and wait until it begins to."""
    with listener() as telling:
        words = ("tells", str(port_of(telling)), *manners)
        command = module("wrapper", *through, f"tests.servers.{words[0]}", *words[1:])
        program.recipe("telling", stdio=toml(command if through else module(*words)))
        program.scenario("endless", ENDLESS)
        options = ("--json", "--era", "stateful", "--pin", "none")
        started = program.start("run", "endless", *options)
        with _heard(telling) as told:
            yield Running(started, told)


@contextmanager
def _heard(telling: socket.socket) -> Iterator[Iterator[Word]]:
    with telling.accept()[0] as line, line.makefile() as lines:
        line.settimeout(PATIENCE_S)
        yield (Word(*map(int, text.split())) for text in lines)


def _made(path: Path) -> int:
    phases: list[str] = store.read(path).call_table["phase"].to_pylist()
    return len(phases) - phases.count("floor")


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder of a run that was killed, and the calls answered a second before that."""
    program = Program(tmp_path_factory.mktemp("killed"))
    words = []
    with _running(program) as running:
        for word in running.told:
            words.append(word)
            if word.at_ns > words[0].at_ns + 2 * SECOND_NS:
                break
        now_ns = SYSTEM_CLOCK()
        running.started.kill()
        _, alive = psutil.wait_procs(program.left(), timeout=PATIENCE_S)
    assert alive == []
    running.started.communicate(timeout=PATIENCE_S)
    before = max(word.calls for word in words if word.at_ns < now_ns - SECOND_NS)
    return program.results(), before


@pytest.fixture
def killed(program: Program, remains: tuple[Path, int]) -> tuple[Program, Path, int]:
    """The same, for one test to do with as it likes."""
    path, before = remains
    return program, shutil.copytree(path, program.folder / path.name), before


def test_a_killed_run_loses_at_most_its_last_second(killed: tuple[Program, Path, int]) -> None:
    program, path, before = killed
    assert _made(path) >= before > 0
    said = program("report", str(path), "--json")
    assert said.code == FINE, said.err
    assert said.document["status"] == "incomplete"
    assert said.cell["outcomes"]["ok"] == said.cell["calls"] == _made(path) - 6  # first, warm-up
    assert said.cell["segments"]["call"]["p50_ns"] > 2_000_000
    assert "INCOMPLETE" in program("report", str(path)).out


def test_half_a_record_is_left_out_and_counted(killed: tuple[Program, Path, int]) -> None:
    program, path, _ = killed
    whole = _made(path)
    torn = path / "calls-0.arrow"
    ends, rows = _records(torn)
    with torn.open("r+b") as file:
        file.truncate((ends[-2] + ends[-1]) // 2)
    said = program("report", str(path), "--json")
    assert said.code == FINE, said.err
    assert said.document["status"] == "incomplete"
    assert "1 torn ends of files were left out" in said.document["warnings"]
    assert _made(path) == whole - rows[-1]


def test_half_a_line_is_left_out_and_counted(killed: tuple[Program, Path, int]) -> None:
    program, path, _ = killed
    with (path / store.LAUNCHES_FILE).open("a") as file:
        file.write('{"launch": 1, "cell": "endl')
    said = program("report", str(path), "--json")
    assert said.code == FINE, said.err
    assert "1 torn ends of files were left out" in said.document["warnings"]
    assert said.cell["launches"] == 1


def test_the_trace_of_a_killed_run_can_be_read(killed: tuple[Program, Path, int]) -> None:
    program, path, _ = killed
    said = program("trace", str(path), "--json")
    assert [each["method"] for each in said.document["messages"]][:5:2] == [
        "initialize",
        "notifications/initialized",
        None,
    ]


def _records(path: Path) -> tuple[list[int], list[int]]:
    """The end of each record of an Arrow stream in its file, and its rows."""
    ends, rows = [], []
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            ends.append(source.tell())
            rows.append(batch.num_rows)
    return ends, rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_was_measured(
    program: Program, number: signal.Signals
) -> None:
    with _running(program) as running:
        told = next(word for word in running.told if word.calls >= 100)
        running.started.send_signal(number)
        said = program.ended(running.started)
    assert said.code == INTERRUPTED, said.err
    assert said.left == []
    assert said.document["status"] == "interrupted"
    assert _made(said.run.path) >= told.calls
    assert said.err.splitlines()[-1] == said.document["path"]
    shown = program("report", said.document["path"], "--json")
    assert shown.code == FINE
    assert json.loads(shown.out) == said.document


@pytest.mark.parametrize("how", ["stay", "stay-away", "leave-away"])
def test_an_interrupt_leaves_no_grandchild_even_if_it_comes_twice(
    program: Program, how: str
) -> None:
    with _running(program, "stubborn", through=(how,)) as running:
        next(word for word in running.told if word.calls >= 50)
        running.started.send_signal(signal.SIGINT)
        for _ in running.told:  # the last word comes when its input has ended
            if how == "leave-away":
                break
            running.started.send_signal(signal.SIGINT)
        said = program.ended(running.started)
    assert said.code == INTERRUPTED, said.err
    assert said.left == []
    assert said.cell["calls"] > 0


@pytest.mark.parametrize("how", ["stay-away", "leave-away"])
def test_an_interrupt_during_a_setup_ends_the_server_too(program: Program, how: str) -> None:
    with _running(program, "mute", through=(how,)) as running:
        next(running.told)
        running.started.send_signal(signal.SIGINT)
        said = program.ended(running.started)
    assert said.code == INTERRUPTED, said.err
    assert said.left == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_before_the_run_leaves_no_process(
    program: Program, number: signal.Signals
) -> None:
    with listener() as telling:
        command = module("tells", str(port_of(telling)), "mute")
        started = program.start("run", "--", *command)
        with _heard(telling) as told:
            next(told)
            started.send_signal(number)
            said = program.ended(started)
    assert said.code == INTERRUPTED, said.err
    assert said.left == []

"""The end of what was started: seen as soon as it comes, and brought about when we are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from bench import exits
from bench.guard import Guard
from tests.outside import PATIENCE_S, Program, conversing, listener, module, port_of, toml

ENDLESS = 'servers = ["endless"]\ncalls = 1000000\n[[call]]\ntool = "echo"\n'


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[bytes]]:
    """A child in a group of its own that leaves with status 3 at a line or the end of input."""
    words = [sys.executable, "-c", "import os; print(flush=True); os.read(0, 1); os._exit(3)"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


def test_a_child_that_has_left_is_seen_and_reaped(waiting: subprocess.Popen[bytes]) -> None:
    async def main() -> None:
        assert waiting.stdin is not None
        assert not await exits.left(waiting, 0.01)
        waiting.stdin.write(b"\n")
        assert await exits.left(waiting, PATIENCE_S)
        assert waiting.returncode == 3
        assert await exits.left(waiting, 0)

    conversing(main)


def test_without_a_descriptor_of_the_process_its_end_is_seen_all_the_same(
    waiting: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        assert waiting.stdin is not None
        assert not await exits.left(waiting, 0.01)
        waiting.stdin.write(b"\n")
        assert await exits.left(waiting, PATIENCE_S)

    monkeypatch.setattr(sys, "platform", "darwin")
    conversing(main)


def test_waiting_for_a_child_leaves_no_descriptor_open(waiting: subprocess.Popen[bytes]) -> None:
    async def main() -> None:
        before = os.listdir("/dev/fd")
        assert not await exits.left(waiting, 0.01)
        assert os.listdir("/dev/fd") == before

    conversing(main)


def test_a_guard_that_is_dismissed_ends_nothing_and_is_reaped(
    waiting: subprocess.Popen[bytes],
) -> None:
    before = psutil.Process().children()
    guard = Guard()
    guard.watch(waiting.pid)
    guard.dismiss()
    assert psutil.Process().children() == before
    assert waiting.poll() is None


def test_a_guard_that_was_killed_itself_is_missed_by_nobody() -> None:
    before = psutil.Process().children()
    guard = Guard()
    for shell in psutil.Process().children():
        if shell not in before:
            shell.kill()
            shell.wait(PATIENCE_S)
    guard.watch(os.getpid())
    guard.dismiss()
    assert psutil.Process().children() == before


@pytest.mark.parametrize("through", [(), ("stay",)])
def test_a_server_that_ignores_the_end_of_its_input_does_not_outlive_us(
    program: Program, through: tuple[str, ...]
) -> None:
    with listener() as telling:
        words = ("tells", str(port_of(telling)), "stubborn")
        wrapped = module("wrapper", *through, f"tests.servers.{words[0]}", *words[1:])
        program.recipe("endless", stdio=toml(wrapped if through else module(*words)))
        started = _started(program)
        with telling.accept()[0] as line:
            assert line.recv(1)
            _kill(program, started)


def test_a_server_that_listens_does_not_outlive_us(program: Program) -> None:
    listens = toml(module("trivial_http", "{port}"))
    http = f'{{command = {listens}, url = "http://127.0.0.1:{{port}}/mcp"}}'
    program.recipe("endless", http=http)
    started = _started(program)
    while not any(_listens(each) for each in program.left()):
        assert started.poll() is None
    _kill(program, started)


def _started(program: Program) -> subprocess.Popen[str]:
    """A run that does not end by itself."""
    program.scenario("endless", ENDLESS)
    return program.start("run", "endless", "--json", "--era", "stateful", "--pin", "none")


def _kill(program: Program, started: subprocess.Popen[str]) -> None:
    """End it by a signal that it cannot see, and wait until all that it started has gone."""
    running = program.left()
    assert len(running) > 1
    started.kill()
    assert psutil.wait_procs(running, timeout=PATIENCE_S)[1] == []
    assert program.ended(started).left == []


def _listens(process: psutil.Process) -> bool:
    try:
        return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp"))
    except psutil.Error:
        return False

"""One child and all that it starts: spawned on its cores, drained, ended and reaped."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import psutil

from bench import exits, probe, redact
from bench.errors import BenchError, nearest
from bench.guard import Guard
from bench.model import Server
from bench.recorder import Recorder

KEPT_STDERR_BYTES = 64 * 1024
QUOTED_STDERR_LINES, QUOTED_LETTERS = 4, 300
POLL_S = 0.004
STOP_WAIT_S = 2.0
MARK = "MCP_LATENCY_LAUNCH"
_PR_SET_CHILD_SUBREAPER = 36


class Environment(NamedTuple):
    """What a server is started with beside its recipe: words to fill in, variables, cores."""

    words: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    probe: Path | None = None
    cpus: tuple[int, ...] = ()
    options: Sequence[str] = ()
    limit_s: float = 30.0


class Stopped(NamedTuple):
    """How a server left: `left` by itself, `terminated`, `killed`; and what it left behind."""

    how: str
    status: int | None
    took_ns: int
    leftovers: int


def adopt_orphans() -> None:
    """Make grandchildren whose parent dies ours, so that they can be ended (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process:
    """One child and all that it starts: own session, standard error always drained."""

    def __init__(
        self,
        server: Server,
        command: Sequence[str],
        environment: Environment,
        recorder: Recorder,
        *,
        piped: bool,
    ) -> None:
        self.name = server.name
        self.probed = environment.probe is not None
        self._secrets = redact.secrets_of(server)
        self.command = tuple(filled(word, environment.words) for word in command)
        self._folder = filled(server.cwd, environment.words) if server.cwd else server.folder
        self._recorder = recorder
        self._loop = asyncio.get_running_loop()
        self._tail = bytearray()
        self._mark = uuid.uuid4().hex
        own = {key: filled(value, environment.words) for key, value in server.env.items()}
        variables = {**os.environ, **own, **environment.variables, MARK: self._mark}
        adopt_orphans()
        if environment.probe is not None:
            variables = probe.environment(environment.probe, variables)
        self._guard = Guard()
        with _on_cores(environment.cpus):
            recorder.mark("spawning")
            self._popen = self._spawn(server, variables, piped)
        recorder.mark("spawned")
        self.pid = self._popen.pid
        self._guard.watch(self.pid)
        self.stdin_fd, self.stdout_fd = self._descriptors(piped)
        assert self._popen.stderr is not None
        self._errors = [self._popen.stderr.fileno()]
        if not piped:
            self._errors.append(self.stdout_fd)
        for fd in self._errors:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._drain, fd)

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it lives."""
        return self._popen.poll()

    def last_words(self) -> str:
        """The last lines of its standard error, for a message to the user."""
        said = redact.text(self._tail.decode("utf-8", "replace"), self._secrets)
        lines = [line.strip()[:QUOTED_LETTERS] for line in said.splitlines()]
        return " / ".join([line for line in lines if line][-QUOTED_STDERR_LINES:])

    async def gone(self, limit_s: float) -> bool:
        """Wait until the child has left, at most `limit_s`."""
        return await exits.left(self._popen, limit_s)

    def tree(self) -> list[psutil.Process]:
        """The child and its descendants, also those whose parent has died."""
        found = {one.pid: one for one in self._descendants()}
        for child in psutil.Process().children(recursive=True):
            if child.pid not in found and self._is_ours(child):
                found[child.pid] = child
        return list(found.values())

    def usage(self) -> tuple[int, float]:
        """Resident bytes, and seconds of processor time, of the whole tree."""
        rss_bytes, cpu_s = 0, 0.0
        for one in self._descendants():
            try:
                rss_bytes += one.memory_info().rss
                times = one.cpu_times()
            except psutil.Error:
                continue
            cpu_s += times.user + times.system
        return rss_bytes, cpu_s

    async def stop(self, *, asked: bool = False) -> Stopped:
        """End the whole tree: wait (where it was `asked` to leave), TERM, wait, KILL, reap."""
        tree = self.tree()
        began_ns = self._recorder.clock()
        how = "left"
        with anyio.CancelScope(shield=True):
            if not (asked and await self.gone(STOP_WAIT_S)):
                how = "left" if self.status is not None else "terminated"
                self._signal(signal.SIGTERM)
                if not await self.gone(STOP_WAIT_S):
                    how = "killed"
                    self._signal(signal.SIGKILL)
                    await self.gone(STOP_WAIT_S)
            took_ns = self._recorder.mark("gone") - began_ns
            leftovers = await self._end({one.pid: one for one in (*tree, *self.tree())})
        for fd in self._errors:
            self._drain(fd)
            self._loop.remove_reader(fd)
        self._close()
        self._guard.dismiss()
        return Stopped(how, self.status, took_ns, leftovers)

    def _spawn(
        self, server: Server, variables: Mapping[str, str], piped: bool
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._folder,
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            self._guard.dismiss()
            raise BenchError(_cannot_start(self.command, server, error)) from error

    def _descriptors(self, piped: bool) -> tuple[int, int]:
        """The pipe ends, as numbers the caller owns."""
        assert self._popen.stdout is not None
        stdout_fd = os.dup(self._popen.stdout.fileno())
        self._popen.stdout.close()
        if not piped:
            return -1, stdout_fd
        assert self._popen.stdin is not None
        stdin_fd = os.dup(self._popen.stdin.fileno())
        self._popen.stdin.close()
        return stdin_fd, stdout_fd

    def _drain(self, fd: int) -> None:
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        if not chunk:
            self._loop.remove_reader(fd)
            return
        self._recorder.count("stderr_bytes", len(chunk))
        self._tail += chunk
        if len(self._tail) > 2 * KEPT_STDERR_BYTES:
            del self._tail[:-KEPT_STDERR_BYTES]

    def _signal(self, number: signal.Signals) -> None:
        """To the child's whole group; it may be gone already."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    async def _end(self, tree: Mapping[int, psutil.Process]) -> int:
        """Kill what outlived the child; the number that did not go even then."""
        rest = [one for pid, one in tree.items() if pid != self.pid]
        for one in rest:
            try:
                one.kill()
            except psutil.Error:
                continue
        with anyio.move_on_after(STOP_WAIT_S):
            while rest := [one for one in rest if _is_running(one)]:
                await anyio.sleep(POLL_S)
        return len(rest)

    def _descendants(self) -> list[psutil.Process]:
        try:
            child = psutil.Process(self.pid)
            return [child, *child.children(recursive=True)]
        except psutil.Error:
            return []

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self._mark
        except (psutil.Error, OSError):
            return False

    def _close(self) -> None:
        assert self._popen.stderr is not None
        self._popen.stderr.close()
        if len(self._errors) > 1:
            os.close(self.stdout_fd)


def words(process: Process | None) -> str:
    """`; last words: "…"` where a process has said something on its standard error."""
    said = process.last_words() if process is not None else ""
    return f'; last words: "{said}"' if said else ""


@contextlib.contextmanager
def _on_cores(cpus: tuple[int, ...]) -> Iterator[None]:
    """The child inherits the cores its parent has at the fork, so no instant runs elsewhere."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def filled(word: str, words: Mapping[str, str]) -> str:
    """The word with each `{key}` that is known replaced by its value."""
    for key, value in words.items():
        word = word.replace(f"{{{key}}}", value)
    return word


def _cannot_start(command: Sequence[str], server: Server, error: OSError) -> str:
    reason = error.strerror or str(error)
    hint = ""
    if isinstance(error, FileNotFoundError) and "/" not in command[0]:
        hint = nearest(command[0], _programs(command[0]))
    return f'server "{server.name}" cannot be started: {command[0]}: {reason}{hint}'


def _programs(like: str) -> list[str]:
    """Programs on PATH that begin like the one that was not found."""
    found: set[str] = set()
    for folder in os.get_exec_path():
        try:
            found.update(name for name in os.listdir(folder) if name[:2] == like[:2])
        except OSError:
            continue
    return sorted(found)[:200]


def _is_running(process: psutil.Process) -> bool:
    """Also reaps it, where it has become our child and is dead."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            process.wait(0)
            return False
        return process.is_running()
    except (psutil.Error, OSError):
        return False

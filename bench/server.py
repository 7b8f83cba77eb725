"""How a server comes to be reachable, per transport: started, or found running; and its end."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import anyio

from bench import probe, redact
from bench.errors import BenchError, SetupError
from bench.model import Endpoint, HttpRecipe, Reply, Server
from bench.process import POLL_S, Environment, Process, filled, words
from bench.recorder import Recorder

LAST_WORDS_WAIT_S = 0.5


class Attached(Protocol):
    """What a client holds to a server."""

    async def close(self) -> None:
        """Say goodbye as the transport does; the server may still be leaving afterwards."""

    def finish(self) -> None:
        """Give back what is held, once the server has left."""


class Live(NamedTuple):
    """A server that can be talked to: where, and its process where it is ours."""

    endpoint: Endpoint
    process: Process | None


async def start_piped(server: Server, environment: Environment, recorder: Recorder) -> Live:
    """A child that speaks over its standard input and output."""
    command = (*server.stdio, *environment.options)
    process = Process(server, command, environment, recorder, piped=True)
    endpoint = Endpoint(read_fd=process.stdout_fd, write_fd=process.stdin_fd)
    return Live(endpoint, process)


async def start_listening(server: Server, environment: Environment, recorder: Recorder) -> Live:
    """A child that accepts connections, or the address of a server that runs already."""
    assert server.http is not None
    recipe = server.http
    if not recipe.command:
        return Live(_endpoint(server, recipe, recipe.url), None)
    known = {"port": str(_free_port()), **environment.words}
    url = filled(recipe.url, known)
    _refuse_taken(server, url)
    command = (*recipe.command, *environment.options)
    variables = {key: filled(value, known) for key, value in recipe.env.items()}
    own = environment._replace(words=known, variables={**environment.variables, **variables})
    process = Process(server, command, own, recorder, piped=False)
    try:
        await _accepting(process, url, environment.limit_s)
    except BaseException:
        await process.stop()
        raise
    recorder.mark("accepting")
    return Live(_endpoint(server, recipe, url), process)


def _endpoint(server: Server, recipe: HttpRecipe, url: str) -> Endpoint:
    return Endpoint(url=url, headers=server.headers, ca=recipe.ca, proxy=recipe.proxy)


async def start_in_memory(server: Server, _: Environment, __: Recorder) -> Live:
    """A server inside this process, known by its name (`wire/memory.py`)."""
    return Live(Endpoint(url=server.name), None)


STARTS: Mapping[str, Callable[[Server, Environment, Recorder], Awaitable[Live]]] = {
    "stdio": start_piped,
    "http": start_listening,
    "memory": start_in_memory,
}


async def end(process: Process | None, attached: Attached | None, recorder: Recorder) -> None:
    """Say goodbye, and leave nothing running."""
    asked = process is not None and process.stdin_fd >= 0
    if process is not None and process.probed and not asked:
        await anyio.sleep(probe.FLUSH_WAIT_S)  # a signal gives its probe no chance to write
    if process is not None:
        recorder.facts["rss_bytes_end"], recorder.facts["cpu_s"] = process.usage()
    recorder.mark("closing")
    if attached is not None:
        await attached.close()
        recorder.mark("gone")
    if process is not None:
        stopped = await process.stop(asked=asked)
        recorder.facts["stopped"] = stopped.how
        recorder.facts["status"] = stopped.status
        recorder.facts["stop_ns"] = stopped.took_ns
        if stopped.leftovers:
            recorder.count("leftovers", stopped.leftovers)
    if attached is not None:
        attached.finish()
    recorder.mark("closed")


async def is_lost(reply: Reply, process: Process | None, *, closed: bool) -> bool:
    """Whether no other reply can follow: the connection is closed, or the process has left."""
    if reply.outcome != "transport_error" or reply.http_status is not None:
        return False
    if closed or process is None:
        return closed
    return await process.gone(LAST_WORDS_WAIT_S)


async def why_gone(process: Process | None, recorder: Recorder) -> str:
    """How the process left, if it did, its last words, and what it printed amiss."""
    printed = b" / ".join(recorder.noise).decode("utf-8", "replace")
    noise = f'; on standard output it said: "{printed}"' if printed else ""
    if process is None:
        return noise
    if await process.gone(LAST_WORDS_WAIT_S):
        return f"; it left with status {process.status}{words(process)}{noise}"
    return f"; it is still running{words(process)}{noise}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


def _refuse_taken(server: Server, url: str) -> None:
    """Somebody else's server on our port would be measured in place of ours."""
    try:
        socket.create_connection(_address(url), timeout=0.5).close()
    except OSError:
        return
    raise BenchError(
        f'server "{server.name}" cannot be started: something else listens at '
        f"{redact.url(url)} already; "
        "try: end it, use {port} in the recipe, or measure it as it is with --url"
    )


async def _accepting(process: Process, url: str, limit_s: float) -> None:
    with anyio.move_on_after(limit_s):
        while process.status is None:
            try:
                stream = await anyio.connect_tcp(*_address(url))
            except OSError:
                await anyio.sleep(POLL_S)
                continue
            await stream.aclose()
            return
        raise SetupError(
            f'server "{process.name}" left with status {process.status} before it accepted '
            f"a connection at {redact.url(url)}{words(process)}",
            phase="boot",
        )
    raise SetupError(
        f'server "{process.name}" did not accept a connection at {redact.url(url)} '
        f"within {limit_s:g} s"
        f"{words(process)}; try: a longer --setup-timeout",
        phase="boot",
        outcome="timeout",
    )

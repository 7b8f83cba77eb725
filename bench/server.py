"""How a server comes to be reachable, per transport: started, or found running."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio

from bench.errors import BenchError, SetupError
from bench.model import Endpoint, Server
from bench.process import POLL_S, Environment, Process, filled, words
from bench.recorder import Recorder


class Live(NamedTuple):
    """A server that can be talked to: where, and its process where it is ours."""

    endpoint: Endpoint
    process: Process | None


async def start_piped(server: Server, environment: Environment, recorder: Recorder) -> Live:
    """A child that speaks over its standard input and output."""
    process = Process(server, server.stdio, environment, recorder, piped=True)
    endpoint = Endpoint(read_fd=process.stdout_fd, write_fd=process.stdin_fd)
    return Live(endpoint, process)


async def start_listening(server: Server, environment: Environment, recorder: Recorder) -> Live:
    """A child that accepts connections, or the address of a server that runs already."""
    assert server.http is not None
    recipe = server.http
    if not recipe.command:
        return Live(Endpoint(url=recipe.url, headers=server.headers), None)
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
    return Live(Endpoint(url=url, headers=server.headers), process)


async def start_in_memory(server: Server, _: Environment, __: Recorder) -> Live:
    """A server inside this process, known by its name (`wire/memory.py`)."""
    return Live(Endpoint(url=server.name), None)


STARTS: Mapping[str, Callable[[Server, Environment, Recorder], Awaitable[Live]]] = {
    "stdio": start_piped,
    "http": start_listening,
    "memory": start_in_memory,
}


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
        f'server "{server.name}" cannot be started: something else listens at {url} already; '
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
            f"a connection at {url}{words(process)}",
            phase="boot",
        )
    raise SetupError(
        f'server "{process.name}" did not accept a connection at {url} within {limit_s:g} s'
        f"{words(process)}; try: a longer --setup-timeout",
        phase="boot",
        outcome="timeout",
    )

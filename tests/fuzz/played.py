"""Plays what a made-up server sends to our wires: through real pipes, and over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import anyio

from bench import jsonrpc
from bench.model import Cell, Endpoint, Outgoing, Reply, Turn
from bench.recorder import Recorder
from bench.wire import Wire, http, stdio
from tests.fuzz.grammar import Response
from tests.outside import conversing

LIMIT_S = 30.0  # a call that needs it is a hang: what is played always ends
MESSAGE_BYTES = 20_000


def over_pipes(written: Sequence[bytes], calls: int) -> tuple[list[Reply], Recorder]:
    """So many calls at once to a server that writes this and closes its output."""

    async def main() -> tuple[list[Reply], Recorder]:
        recorder = recording()
        (read_fd, out), (into, write_fd) = os.pipe(), os.pipe()
        try:
            endpoint = Endpoint(read_fd=read_fd, write_fd=write_fd, limit_bytes=MESSAGE_BYTES)
            wire = await stdio.open(endpoint, recorder)
            replies = await _called(wire, calls, lambda: _write(out, written))
            await wire.close()
            wire.finish()
        finally:
            os.close(into)
        return replies, recorder

    return strictly(main)


def over_sockets(responses: Sequence[Response]) -> tuple[list[Reply], Recorder]:
    """A call after the other, each answered by the response in its place."""

    async def main() -> tuple[list[Reply], Recorder]:
        recorder = recording()
        async with listening(responses) as url:
            wire = await http.open(Endpoint(url=url, limit_bytes=MESSAGE_BYTES), recorder)
            replies = [
                await wire.exchange(asked(place + 1), limit_s=LIMIT_S)
                for place in range(len(responses))
            ]
            await wire.close()
        return replies, recorder

    return strictly(main)


def strictly(
    main: Callable[[], Awaitable[tuple[list[Reply], Recorder]]],
) -> tuple[list[Reply], Recorder]:
    """Run it; an exception that only the event loop sees is one all the same."""
    unseen: list[object] = []

    async def watched() -> tuple[list[Reply], Recorder]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unseen.append(context))
        return await main()

    found = conversing(watched)
    assert unseen == []
    return found


def recording() -> Recorder:
    """A recorder that keeps bodies."""
    cell = Cell(name="cell", scenario="", server="played", transport="stdio", era="stateful")
    return Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=True)


def asked(id: int) -> Outgoing:
    """One call."""
    return Outgoing("tools/call", jsonrpc.request(id, "tools/call", {"name": "echo"}), id)


async def _called(wire: Wire, calls: int, play: Callable[[], Awaitable[None]]) -> list[Reply]:
    """The replies to calls that are all open when the server begins to write."""
    replies: dict[int, Reply] = {}

    async def call(id: int) -> None:
        replies[id] = await wire.exchange(asked(id), limit_s=LIMIT_S)

    async with anyio.create_task_group() as tasks:
        for id in range(1, calls + 1):
            tasks.start_soon(call, id)
        await anyio.wait_all_tasks_blocked()
        await play()
    return [replies[id] for id in sorted(replies)]


async def _write(fd: int, written: Sequence[bytes]) -> None:
    """Piece by piece, each of them seen before the next one; then the end."""
    os.set_blocking(fd, False)
    try:
        for piece in written:
            rest = piece
            while rest:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(fd, rest) :]
                await asyncio.sleep(0)
    except BrokenPipeError:
        pass
    finally:
        os.close(fd)


@contextlib.asynccontextmanager
async def listening(responses: Sequence[Response]) -> AsyncIterator[str]:
    """The address where calls are answered so, until the end of the block."""
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as opened:
        door = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        door.setblocking(False)
        tasks: list[asyncio.Task[None]] = []

        def accept() -> None:
            """Hold each peer from its first moment: a task that is ended unstarted closes none."""
            with contextlib.suppress(BlockingIOError):
                peer = opened.enter_context(door.accept()[0])
                tasks.append(loop.create_task(_connection(peer, responses)))

        loop.add_reader(door, accept)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
        finally:
            loop.remove_reader(door)
            for task in tasks:
                task.cancel()
            for found in await asyncio.gather(*tasks, return_exceptions=True):
                if not isinstance(found, asyncio.CancelledError | None):
                    raise found


async def _connection(peer: socket.socket, responses: Sequence[Response]) -> None:
    """Answer requests by their ids; what is no call of ours is accepted."""
    loop = asyncio.get_running_loop()
    peer.setblocking(False)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    rest = b""
    with peer, contextlib.suppress(ConnectionError):
        while chunk := await loop.sock_recv(peer, 1 << 16):
            rest += chunk
            head, blank, body = rest.partition(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            if not blank or len(body) < size:
                continue
            rest = body[size:]
            message = json.loads(body[:size]) if size else {}
            if message.get("method") != "tools/call":
                await loop.sock_sendall(peer, b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n")
                continue
            response = responses[message["id"] - 1]
            for piece in response.written:
                await loop.sock_sendall(peer, piece)
                await asyncio.sleep(0)
            if response.then == "reset":
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if response.then != "keep":
                return

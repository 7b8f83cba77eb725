"""The official SDK's transports with a tap in them; over stdio around a process that is ours.

Loaded only with that client: it needs the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.client import Transport
from mcp.client._transport import TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter

from bench.model import Endpoint
from bench.wire.lines import LineReader
from bench.wire.tap import Tap

READ_BYTES = 1 << 16


class _Writing:
    """The SDK's stream to its transport; what causes a request is known only on this side of it."""

    def __init__(self, stream: WriteStream[SessionMessage], tap: Tap) -> None:
        self._stream = stream
        self._tap = tap

    async def send(self, item: SessionMessage, /) -> None:
        """Hand it on."""
        if isinstance(item.message, JSONRPCRequest):
            self._tap.claim(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Hand it on."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)


@contextlib.asynccontextmanager
async def tapped(transport: Transport, tap: Tap) -> AsyncGenerator[TransportStreams]:
    """The transport, with its requests claimed."""
    async with transport as (incoming, outgoing):
        yield incoming, _Writing(outgoing, tap)


@contextlib.asynccontextmanager
async def pipes(endpoint: Endpoint, tap: Tap) -> AsyncGenerator[TransportStreams]:
    """What `mcp.client.stdio` does between its streams and the pipes, task for task.

    Only the process is ours in place of one that the SDK would start and stop.
    """
    reader, writer, close = await _opened(endpoint)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    lines = LineReader()
    tap.response_form = "line"

    async def read() -> None:
        async with to_session:
            while chunk := await reader.read(READ_BYTES):
                at_ns = tap.clock()
                for line in lines.feed(chunk):
                    tap.incoming(line, at_ns)
                    with contextlib.suppress(anyio.BrokenResourceError):
                        await to_session.send(_parsed(line))

    async def write() -> None:
        try:
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                data = (text + "\n").encode()
                at_ns = tap.clock()
                writer.write(data)
                tap.out(data[:-1], at_ns)
                await writer.drain()
        except OSError:
            await to_session.aclose()

    async with incoming, outgoing, from_session, anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            close()


async def _opened(
    endpoint: Endpoint,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Callable[[], None]]:
    """asyncio's streams over the pipe ends, as it gives them for a process that it starts."""
    assert endpoint.read_fd is not None
    assert endpoint.write_fd is not None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    ours, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(endpoint.read_fd, "rb", 0)
    )
    theirs, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(endpoint.write_fd, "wb", 0),
    )

    def close() -> None:
        theirs.close()
        ours.close()

    return reader, asyncio.StreamWriter(theirs, protocol, None, loop), close


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(
            line.decode(), by_name=False
        )
    except ValueError as error:
        return error
    return SessionMessage(message)

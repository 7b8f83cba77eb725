"""The official SDK's transports with a tap in them; over stdio around a process that is ours.

Loaded only with that client: it needs the SDK.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
from mcp.client import Transport
from mcp.client._transport import TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from bench.model import Endpoint
from bench.wire.tap import Exchange, Tap

READ_BYTES = 1 << 16
CONNECTING = "connection.connect_tcp.started"
CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
SENDING = "http11.send_request_headers.started"
TRACE, EXCHANGE = "trace", "mcp_latency_exchange"  # keys of a request's extensions
Hooks = Mapping[str, list[Callable[..., Any]]]


class _Writing:
    """The SDK's stream to its transport; what causes a request is known only on this side of it."""

    def __init__(self, stream: WriteStream[SessionMessage], tap: Tap) -> None:
        self._stream = stream
        self._tap = tap

    async def send(self, item: SessionMessage, /) -> None:
        """Hand it on."""
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

    async def read() -> None:
        decode, rest = codecs.getincrementaldecoder("utf-8")().decode, ""
        async with to_session:
            while chunk := await reader.read(READ_BYTES):
                tap.keep(("in", tap.clock(), chunk, None))
                *lines, rest = (rest + decode(chunk)).split("\n")
                for line in lines:
                    with contextlib.suppress(anyio.BrokenResourceError):
                        await to_session.send(_parsed(line))

    async def write() -> None:
        try:
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                data = (text + "\n").encode()
                if writer.is_closing():
                    raise BrokenPipeError
                tap.keep(("out", tap.clock(), data, None))
                writer.write(data)
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


def _parsed(line: str) -> SessionMessage | Exception:
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        return error
    return SessionMessage(message)


def hooks(tap: Tap) -> Hooks:
    """What the SDK's HTTP client calls as each request goes out and each response begins."""

    async def requested(request: httpx2.Request) -> None:
        exchange = Exchange(request)
        traced = _Traced(tap, exchange)
        request.extensions = {**request.extensions, TRACE: traced, EXCHANGE: exchange}

    async def responded(response: httpx2.Response) -> None:
        exchange = response.request.extensions[EXCHANGE]
        tap.keep(("answered", tap.clock(), response, exchange))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Body(response.stream, exchange, tap)

    return {"request": [requested], "response": [responded]}


class _Traced:
    """Stamps what the HTTP client tells of one request, up to where it begins to be sent."""

    def __init__(self, tap: Tap, exchange: Exchange) -> None:
        self._tap = tap
        self._exchange = exchange

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        at_ns = self._tap.clock()
        if event == SENDING:
            self._tap.keep(("out", at_ns, None, self._exchange))
            info["request"].extensions.pop(TRACE, None)  # what follows need not call us
        elif event in CONNECTED:
            stream = info["return_value"]  # it may be closed by the time that this is read
            port = (stream.get_extra_info("client_addr") or (None, None))[1]
            self._tap.keep(("connected", at_ns, (stream, port), self._exchange))
        elif event == CONNECTING:
            self._tap.keep(("connecting", at_ns, None, self._exchange))


class _Body(httpx2.AsyncByteStream):
    """Hands a body on part by part, each of them kept."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange, tap: Tap) -> None:
        self._stream = stream
        self._exchange = exchange
        self._tap = tap

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._tap.keep(("in", self._tap.clock(), chunk, self._exchange))
            yield chunk
        self._tap.keep(("end", 0, None, self._exchange))

    async def aclose(self) -> None:
        """As the SDK wants it, at the end or before."""
        await self._stream.aclose()

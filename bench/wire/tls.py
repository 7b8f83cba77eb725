"""A TLS connection that is read and written like the plain non-blocking socket under it."""

from __future__ import annotations

import asyncio
import socket
import ssl

from bench.errors import BenchError


def context(ca: str | None) -> ssl.SSLContext:
    """What is trusted: the system's certificates, and those of the file `ca` where one is named."""
    made = ssl.create_default_context()
    if ca is not None:
        try:
            made.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            raise BenchError(f"{ca} holds no certificates: {error.strerror or error}") from error
    return made


async def secured(sock: socket.socket, host: str, trusted: ssl.SSLContext) -> TlsSocket:
    """Shake hands over a connected non-blocking socket; raises ssl.SSLError where that fails."""
    secure = trusted.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    try:
        while True:
            try:
                secure.do_handshake()
                return TlsSocket(secure)
            except ssl.SSLWantReadError:
                await _ready(secure, writing=False)
            except ssl.SSLWantWriteError:
                await _ready(secure, writing=True)
    except BaseException:
        secure.close()
        raise


class TlsSocket:
    """What a Connection needs of a socket; as there, BlockingIOError means: not now."""

    def __init__(self, secure: ssl.SSLSocket) -> None:
        self._secure = secure
        self._held = b""

    def fileno(self) -> int:
        """The descriptor to watch."""
        return self._secure.fileno()

    def getsockname(self) -> tuple[str, int]:
        """Our end."""
        return self._secure.getsockname()  # type: ignore[no-any-return]

    def getpeername(self) -> tuple[str, int]:
        """The other end."""
        return self._secure.getpeername()  # type: ignore[no-any-return]

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """An option of the socket under it."""
        self._secure.setsockopt(level, option, value)

    def getsockopt(self, level: int, option: int) -> int:
        """An option of it, as it is."""
        return self._secure.getsockopt(level, option)

    def send(self, data: bytes | memoryview) -> int:
        """Encrypt and write what goes now."""
        try:
            return self._secure.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            raise BlockingIOError from error

    def recv(self, size: int, flags: int = 0) -> bytes:
        """All that is there and decrypted, which the descriptor alone does not tell; or a look."""
        if not self._held:
            self._held = self._decrypted(size)
        if flags & socket.MSG_PEEK:
            return self._held
        held, self._held = self._held, b""
        return held

    def close(self) -> None:
        """Close without a last word: the other side sees the end."""
        self._secure.close()

    def _decrypted(self, size: int) -> bytes:
        try:
            pieces = [self._secure.recv(size)]
            while self._secure.pending():
                pieces.append(self._secure.recv(size))
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            raise BlockingIOError from error
        except ssl.SSLEOFError:
            return b""
        return b"".join(pieces)


async def _ready(sock: ssl.SSLSocket, *, writing: bool) -> None:
    loop = asyncio.get_running_loop()
    able: asyncio.Future[None] = loop.create_future()
    add, remove = (
        (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
    )
    add(sock, lambda: None if able.done() else able.set_result(None))
    try:
        await able
    finally:
        remove(sock)

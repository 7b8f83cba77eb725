"""The file of a history: lines are only ever appended, all of a run at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bench.errors import BenchError
from bench.history.points import FORMAT, Point


def read(path: Path) -> tuple[list[Point], int]:
    """All points, and 1 where a killed writer left a torn last line; BenchError where none are."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from error
    points, torn = _parsed(path, data)
    if not points:
        raise BenchError(f"{path} has no points; try: mcp-latency history add RUN")
    return points, torn


def append(path: Path, made: Sequence[Point]) -> list[Point]:
    """Append the points of a run in one write, under a lock; returns what was there before.

    A run that is there already is a BenchError. Half a line that a killed writer left goes first.
    """
    text = b"".join(msgspec.json.encode(point) + b"\n" for point in made)
    with _locked(path) as descriptor:
        data = path.read_bytes()
        before, torn = _parsed(path, data)
        (run,) = {point.run for point in made}
        if any(point.run == run for point in before):
            raise BenchError(f'run "{run}" is in {path} already: nothing was added')
        if torn:
            os.ftruncate(descriptor, data.rfind(b"\n") + 1)
        if os.write(descriptor, text) != len(text):
            raise BenchError(f"{path} could not be written whole: is the disk full?")
        os.fsync(descriptor)
    return before


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _parsed(path: Path, data: bytes) -> tuple[list[Point], int]:
    *whole, tail = data.split(b"\n")
    points = [_point(path, number, line) for number, line in enumerate(whole, 1) if line.strip()]
    return points, int(bool(tail))


def _point(path: Path, number: int, line: bytes) -> Point:
    try:
        point = msgspec.json.decode(line, type=Point)
    except msgspec.DecodeError as error:
        raise BenchError(f"{path}, line {number} cannot be read: {error}") from error
    if point.format != FORMAT:
        raise BenchError(
            f"{path}, line {number} has format {point.format}, this program reads {FORMAT}"
        )
    return point

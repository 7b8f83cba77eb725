"""One dependency-free file per language, loaded inside a server: stamps read to writing.

Here: the environment that makes a server load it, and the reader of the side files it leaves.

A side file is a header of 256 bytes (`HEADER`) and records of 80 bytes (`RECORD`), little endian,
times in nanoseconds of CLOCK_MONOTONIC, absent = 0. A record is one request:

    kind 1  request and tool call in one    read, entered, left, writing, id (and port over HTTP)
    kind 2  tool call alone (Node, HTTP)    entered, left, id
    kind 3  HTTP exchange alone             read, writing, port
    kind 4  request without reply at exit   what had happened

A Python server that is killed has left every record. A Node.js server writes them in groups: at
exit all are there, but SIGTERM and SIGKILL give it no chance, so wait `FLUSH_WAIT_S` before them.
"""

import os
import py_compile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from bench.probe.joining import Calls, Joined, join

__all__ = [
    "FLUSH_WAIT_S",
    "HEADER",
    "MAGIC",
    "RECORD",
    "Calls",
    "Joined",
    "ProbeFile",
    "environment",
    "join",
    "read",
    "reason",
]

FOLDER = Path(__file__).parent
MAGIC, FORMAT = b"mcplprb\0", 1
LANGUAGES = {1: "python", 2: "node"}
FLUSH_WAIT_S = 0.06  # after the last reply, before a kill: a Node.js server flushes within 20 ms
STDIO, HTTP, HANDLER, AUTHOR = 1, 2, 4, 8  # bits of `hooks` (in place) and of `used` (seen at work)

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("format", "<u2"),
        ("header_bytes", "<u2"),
        ("record_bytes", "<u2"),
        ("language", "<u2"),
        ("pid", "<u4"),
        ("hooks", "<u4"),
        ("used", "<u4"),
        ("errors", "<u4"),
        ("drops", "<u4"),
        ("spare", "<u4"),
        ("process_up_ns", "<i8"),
        ("imports_done_ns", "<i8"),
        ("listening_ns", "<i8"),
        ("first_read_ns", "<i8"),
        ("exit_ns", "<i8"),
        ("spare_ns", "<i8", 2),
        ("sdk", "S56"),
        ("last_error", "S104"),
    ]
)
RECORD = np.dtype(
    [
        ("kind", "u1"),
        ("flags", "u1"),
        ("port", "<u2"),
        ("padding", "<u4"),
        ("id", "<i8"),
        ("read", "<i8"),
        ("outer_entered", "<i8"),
        ("entered", "<i8"),
        ("left", "<i8"),
        ("outer_left", "<i8"),
        ("writing", "<i8"),
        ("spare", "<i8", 2),
    ]
)


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """What one server process left: its header, and its records as a `RECORD` array."""

    pid: int
    language: str
    sdk: str
    hooks: int
    used: int
    errors: int
    last_error: str
    drops: int
    process_up_ns: int
    imports_done_ns: int | None
    listening_ns: int | None
    first_read_ns: int | None
    exit_ns: int | None
    records: NDArray[np.void]


def environment(prefix: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The child's environment: `base`, and both probes, writing to `prefix` + process id."""
    _compile()
    theirs = base.get("NODE_OPTIONS", "").strip()
    child = dict(base)
    child["MCP_LATENCY_PROBE"] = str(prefix.absolute())
    folders = [str(FOLDER / "python"), base.get("PYTHONPATH", "")]
    child["PYTHONPATH"] = os.pathsep.join(folder for folder in folders if folder)
    quoted = str(FOLDER / "node" / "probe.cjs").replace("\\", "\\\\").replace('"', '\\"')
    child["NODE_OPTIONS"] = f'{theirs} --require="{quoted}"'.strip()
    child.pop("MCP_LATENCY_NODE_OPTIONS", None)
    if theirs:
        child["MCP_LATENCY_NODE_OPTIONS"] = theirs
    return child


@cache
def _compile() -> None:
    """Leave the Python probe's bytecode where its interpreter looks: saves 5 ms at each start."""
    try:
        py_compile.compile(str(FOLDER / "python" / "sitecustomize.py"), doraise=True)
    except (OSError, py_compile.PyCompileError):
        return  # an installation that cannot be written: the interpreter compiles it each time


def read(prefix: Path) -> tuple[ProbeFile, ...]:
    """Every side file under `prefix`, by process id; also while their servers live.

    A file whose header is not ours or not whole is passed over, a torn record at the end too.
    """
    if not prefix.parent.is_dir():
        return ()
    found: list[ProbeFile] = []
    for path in prefix.parent.iterdir():
        if path.name.startswith(prefix.name) and path.name[len(prefix.name) :].isdigit():
            file = _read_file(path)
            if file is not None:
                found.append(file)
    return tuple(sorted(found, key=lambda file: file.pid))


def _read_file(path: Path) -> ProbeFile | None:
    with path.open("rb") as stream:
        raw = stream.read(HEADER.itemsize)
        if len(raw) < HEADER.itemsize or not raw.startswith(MAGIC):
            return None
        header = np.frombuffer(raw, HEADER)[0]
        if int(header["format"]) != FORMAT or int(header["record_bytes"]) != RECORD.itemsize:
            return None
        records = _read_records(stream)
    return ProbeFile(
        pid=int(header["pid"]),
        language=LANGUAGES.get(int(header["language"]), "unknown"),
        sdk=_text(header["sdk"]),
        hooks=int(header["hooks"]),
        used=int(header["used"]),
        errors=int(header["errors"]),
        last_error=_text(header["last_error"]),
        drops=int(header["drops"]),
        process_up_ns=int(header["process_up_ns"]),
        imports_done_ns=int(header["imports_done_ns"]) or None,
        listening_ns=int(header["listening_ns"]) or None,
        first_read_ns=int(header["first_read_ns"]) or None,
        exit_ns=int(header["exit_ns"]) or None,
        records=records,
    )


def _read_records(stream: BinaryIO) -> NDArray[np.void]:
    """Records up to the end of data: the files are sparse and mostly empty."""
    piece_bytes = 4096 * RECORD.itemsize
    pieces: list[bytes] = []
    while True:
        piece = stream.read(piece_bytes)
        pieces.append(piece)
        if len(piece) < piece_bytes or piece[-RECORD.itemsize] == 0:
            break
    raw = b"".join(pieces)
    records: NDArray[np.void] = np.frombuffer(raw, RECORD, count=len(raw) // RECORD.itemsize)
    return records[np.flatnonzero(records["kind"])]


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("utf-8", "replace")


def reason(files: tuple[ProbeFile, ...], calls: Calls) -> str | None:
    """Why the probe does not explain these tool calls, in plain sentences; None if it does."""
    if not files:
        return NO_FILE
    records = np.concatenate([file.records for file in files])
    joined = join(records, calls)
    whole = bool((joined.left_ns > 0).all() and (joined.writing_ns > 0).all())
    used = int(np.bitwise_or.reduce([file.used for file in files]))
    drops = sum(file.drops for file in files)
    serving = [file.pid for file in files if file.used]
    errors = sum(file.errors for file in files)
    last = next((file.last_error for file in reversed(files) if file.errors), "")
    table = (
        (not whole and not used & (STDIO | HTTP), NO_TRANSPORT),
        (not whole and bool(used & (STDIO | HTTP)) and not used & HANDLER, NO_HANDLER),
        (whole and not bool(joined.exact.all()), AROUND),
        (not whole and len(serving) > 1, f"{MANY} {', '.join(map(str, serving))}."),
        (not whole and joined.ambiguous > 0, f"{AMBIGUOUS} {joined.ambiguous} calls."),
        (not whole and joined.disordered > 0, f"{DISORDERED} {joined.disordered} calls."),
        (drops > 0, f"The side file was full: {drops} records were dropped."),
        (errors > 0, f"The probe met {errors} errors, the last: {last}."),
    )
    sentences = [sentence for applies, sentence in table if applies]
    if not whole and not sentences:
        missing = int(((joined.left_ns == 0) | (joined.writing_ns == 0)).sum())
        sentences.append(f"{missing} of {len(calls.id)} calls left no complete record.")
    return " ".join(sentences) or None


NO_FILE = (
    "No process left a probe file: the environment was ignored (python -I, -E or -S, a frozen "
    "program, another runtime, a wrapper that clears it), or no MCP SDK began to serve."
)
NO_TRANSPORT = (
    "The SDK was found but not its transport: one of the server's own, an HTTP server other than "
    "uvicorn or node:http, or an SDK older than the hooks."
)
NO_HANDLER = (
    "Requests and replies were seen but no tool handler: an unknown SDK version or a bundle; "
    "read and writing are good, work is not known."
)
AROUND = (
    "The tool's own function was not found (a proxy, generator or generated tool, or renamed "
    "internals): work includes the SDK's validation around it."
)
MANY = "More than one process served requests (workers, or a server that starts another): pids"
AMBIGUOUS = "More than one record fits"
DISORDERED = "The stamps contradict the client's clock or each other in"

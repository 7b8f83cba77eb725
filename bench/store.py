"""The results folder: appended while measuring, folded to Parquet at the end, read back whole."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import secrets
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bench import redact, tables, torn_ends
from bench.errors import BenchError
from bench.recorder import Recorder

FORMAT = 1
VERDICT_FILE = "verdict.json"
RUN_FILE, LAUNCHES_FILE, TRANSCRIPT_FILE = "run.json", "launches.jsonl", "transcript.jsonl"
TABLES = ("calls", "launches", "messages")
FREE_TEXT = (
    "error",
    "server_info",
    "announced",
    "refused",
    "no_probe",
    "unlisted",
    "failed_with",
)  # facts that a server has worded
MOST_NAMED = 5
STREAMS = ("messages", "calls", "stamps", "spans")


@dataclasses.dataclass(frozen=True)
class Run:
    """One results folder: `meta` is its run.json; the tables have units in column names.

    `torn` counts pieces at the ends of files that a killed writer left unreadable.
    """

    path: Path
    meta: Mapping[str, Any]
    call_table: pa.Table
    launch_table: pa.Table
    message_table: pa.Table
    torn: int = 0

    @property
    def status(self) -> str:
        """`complete`, `interrupted`, or `incomplete` where the writer did not get to its end."""
        status = str(self.meta.get("status", "incomplete"))
        return "incomplete" if status == "running" else status


def create(parent: Path, scenario: str) -> Path:
    """A new folder `<UTC time>-<scenario>-<4 letters>` under `parent`."""
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    letters = "".join(secrets.choice(string.ascii_lowercase) for _ in range(4))
    path = parent / f"{when}-{scenario}-{letters}"
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise BenchError(
            f"results cannot be written to {parent}: {error.strerror}; try: --out DIR"
        ) from error
    return path


class Writer:
    """Appends what recorders kept, off the timed path; everything flushed survives SIGKILL."""

    def __init__(self, path: Path, meta: Mapping[str, Any], *, secrets: Sequence[str] = ()) -> None:
        self.path = path
        self._secrets = secrets
        self.meta = dict(meta)
        self._streams: dict[Path, tuple[io.BufferedWriter, Any]] = {}
        self._seq = 0
        self.write_meta(status="running")

    def write_meta(self, **changes: Any) -> None:
        """Write run.json anew, atomically."""
        self.meta.update(changes)
        known = redact.leaves({"format": FORMAT, **self.meta})
        text = json.dumps(known, indent=1, allow_nan=False)
        fresh = self.path / f"{RUN_FILE}.new"
        fresh.write_text(text + "\n", "utf-8")
        os.replace(fresh, self.path / RUN_FILE)

    def flush(self, recorder: Recorder) -> None:
        """Append the rows that a launch has kept since the last flush."""
        messages, calls = recorder.take()
        self._transcript(recorder)
        turn = recorder.turn
        head = (turn.cell.name, turn.launch)
        sent = [(*head, self._next_seq(), *tables.message_row(row)) for row in messages]
        made = [(*head, turn.round, *tables.call_row(row)) for row in calls]
        self._append(f"messages-{turn.launch}.arrow", tables.MESSAGES, sent)
        self._append(f"calls-{turn.launch}.arrow", tables.CALLS, made)

    def stamps(self, launch: int, rows: Sequence[tuple[int | None, ...]]) -> None:
        """Append the server's stamps of a launch's calls: call, read, entered, left, writing."""
        self._append(f"stamps-{launch}.arrow", tables.STAMPS, [(launch, *row) for row in rows])

    def spans(self, launch: int, durations: Mapping[int, int]) -> None:
        """Append the time in ns that spans give a launch's calls, by the number of the call."""
        rows = [(launch, call, took_ns) for call, took_ns in durations.items()]
        self._append(f"spans-{launch}.arrow", tables.SPANS, rows)

    def launch(self, recorder: Recorder, outcome: str) -> None:
        """Append what is known of a launch so far; a later line of the same launch replaces it."""
        turn = recorder.turn
        line = {
            "launch": turn.launch,
            "cell": turn.cell.name,
            "round": turn.round,
            "outcome": outcome,
            "marks": recorder.marks,
            "facts": {
                name: redact.leaves(value, self._secrets) if name in FREE_TEXT else value
                for name, value in recorder.facts.items()
            },
            "counts": recorder.counts,
            "noise": redact.leaves(
                [line.decode("utf-8", "backslashreplace") for line in recorder.noise],
                self._secrets,
            ),
        }
        self._append_line(LAUNCHES_FILE, line)

    def _transcript(self, recorder: Recorder) -> None:
        """Append the bodies that a launch has kept, and forget them there."""
        kept, recorder.transcript = recorder.transcript, []
        for message in kept:
            body = redact.text(message.body or "", self._secrets)
            line = {**msgspec.to_builtins(message), "launch": recorder.turn.launch, "body": body}
            self._append_line(TRANSCRIPT_FILE, line)

    def end_launch(self, launch: int) -> None:
        """Close the launch's streams."""
        for kind in STREAMS:
            opened = self._streams.pop(self.path / f"{kind}-{launch}.arrow", None)
            if opened is not None:
                opened[1].close()
                opened[0].close()

    def close(self, status: str, **changes: Any) -> None:
        """Fold the streams into Parquet and write the final run.json."""
        for launch in {int(path.stem.rpartition("-")[2]) for path in self._streams}:
            self.end_launch(launch)
        run = read(self.path)
        for name, table in zip(
            TABLES, (run.call_table, run.launch_table, run.message_table), strict=True
        ):
            write_table(table, self.path / f"{name}.parquet")
        self.write_meta(status=status, **changes)
        for stream in _streams(self.path):
            stream.unlink()
        (self.path / LAUNCHES_FILE).unlink(missing_ok=True)

    def _append(self, name: str, schema: pa.Schema, rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        path = self.path / name
        if path not in self._streams:
            file = path.open("wb")
            self._streams[path] = (file, pa.ipc.new_stream(file, schema))
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
        file, writer = self._streams[path]
        writer.write_batch(pa.record_batch(arrays, schema=schema))
        file.flush()

    def _append_line(self, name: str, line: Mapping[str, Any]) -> None:
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq


def write_verdict(path: Path, document: Mapping[str, Any]) -> None:
    """Keep what `ab` decided beside what it measured."""
    text = json.dumps(document, indent=1, allow_nan=False)
    (path / VERDICT_FILE).write_text(text, "utf-8")


def verdict(path: Path | str) -> dict[str, Any] | None:
    """What `ab` decided in this folder; None where it is the folder of another run."""
    try:
        text = (Path(path) / VERDICT_FILE).read_text("utf-8")
        found: dict[str, Any] = json.loads(text)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BenchError(f"{Path(path) / VERDICT_FILE} cannot be read: {error}") from error
    return found


def write_table(table: pa.Table, path: Path) -> None:
    """One Parquet file, small: stamps as differences, text as dictionaries, zstd."""
    numbers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    fresh = path.with_suffix(".new")
    pq.write_table(
        table,
        fresh,
        compression="zstd",
        compression_level=9,
        use_dictionary=texts,
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_statistics=False,
    )
    os.replace(fresh, path)


def read(path: Path | str) -> Run:
    """The run in a folder, whole or as far as it got; BenchError where it is none."""
    folder = Path(path)
    try:
        meta = json.loads((folder / RUN_FILE).read_text("utf-8"))
    except OSError as error:
        there = f"no run in {folder}: {RUN_FILE}: {error.strerror}{_newest(folder)}"
        raise BenchError(there) from error
    except ValueError as error:
        raise BenchError(f"{folder / RUN_FILE} cannot be read: {error}") from error
    if meta.get("format") != FORMAT:
        raise BenchError(f"{folder} has format {meta.get('format')}, this program reads {FORMAT}")
    if (folder / "messages.parquet").is_file():
        calls, *found = (pq.read_table(folder / f"{name}.parquet") for name in TABLES)
        return Run(folder, meta, tables.whole(calls), *found)
    return _read_streams(folder, meta)


def _newest(missed: Path) -> str:
    """The runs that do lie where the missed one was looked for, the newest first."""
    places = dict.fromkeys((missed.parent, Path("results")))
    runs = {file.parent for place in places for file in place.glob(f"*/{RUN_FILE}")}
    newest = sorted(runs, key=lambda run: run.name, reverse=True)[:MOST_NAMED]
    return f"; there are {', '.join(map(str, newest))}" if newest else ""


def transcript(path: Path) -> Iterator[Mapping[str, Any]]:
    """The kept messages of a run, with their bodies; a torn last line is left out."""
    file = path / TRANSCRIPT_FILE
    lines, _ = torn_ends.json_lines(file.read_bytes() if file.is_file() else b"")
    yield from lines


def _read_streams(folder: Path, meta: Mapping[str, Any]) -> Run:
    torn = 0
    found: dict[str, list[pa.RecordBatch]] = {kind: [] for kind in STREAMS}
    for stream in _streams(folder):
        batches, broken = torn_ends.batches(stream)
        found[stream.name.partition("-")[0]] += batches
        torn += broken
    file = folder / LAUNCHES_FILE
    lines, broken = torn_ends.json_lines(file.read_bytes() if file.is_file() else b"")
    calls, messages, stamps, spans = (
        pa.Table.from_batches(found[kind], schema)
        for kind, schema in (
            ("calls", tables.CALLS),
            ("messages", tables.MESSAGES),
            ("stamps", tables.STAMPS),
            ("spans", tables.SPANS),
        )
    )
    return Run(
        folder,
        meta,
        tables.with_spans(tables.with_stamps(calls, stamps), spans),
        tables.launch_table({line["launch"]: line for line in lines}),
        tables.in_order(messages),
        torn + broken,
    )


def _streams(folder: Path) -> list[Path]:
    return [path for kind in STREAMS for path in sorted(folder.glob(f"{kind}-*.arrow"))]

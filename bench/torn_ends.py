"""What a killed writer left: whole batches and whole lines, and whether a torn end follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa


def batches(path: Path) -> tuple[list[pa.RecordBatch], int]:
    """The whole batches of an Arrow stream, and 1 where it is broken after them."""
    found: list[pa.RecordBatch] = []
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            for batch in reader:
                found.append(batch)
    except (pa.ArrowInvalid, OSError):
        return found, 1
    return found, 0


def json_lines(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Whole lines; a torn last one is counted, a torn one in the middle is an error."""
    *whole, tail = data.split(b"\n")
    lines = [json.loads(line) for line in whole]
    return lines, int(bool(tail))

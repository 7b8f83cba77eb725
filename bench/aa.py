"""A server against itself: what this machine takes for a difference, and what it can find."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from bench import ab, certificate, fingerprint, gate, seen, store
from bench.ab import Question
from bench.drive import Watcher
from bench.errors import BenchError

DEFAULT_TARGET = "tickets-python"
BLOCKS, QUICK_BLOCKS = 40, 12
PER_COMPARISON = ab.BLOCKS


def asked(options: argparse.Namespace) -> Question:
    """The options of `aa`: one target on both sides, all blocks in one look."""
    target = options.target or DEFAULT_TARGET
    blocks = options.blocks or (QUICK_BLOCKS if options.quick else BLOCKS)
    return Question(target, target, ab.wished(options), blocks=blocks, max_blocks=blocks)


def certify(question: Question, out: Path, watcher: Watcher) -> dict[str, Any]:
    """Measure the blocks and say what they tell of the machine; kept for `ab` to quote."""
    done = ab.paired(question, out, watcher)
    run = store.read(done.path)
    if not done.metrics:
        raise BenchError(
            f"too few blocks ({done.made}) to say anything; try: --blocks {gate.FEWEST_BLOCKS}"
        )
    base, head = (dict(seen.samples(seen.cell_of(run, asked))) for asked in run.meta["cells"])
    ratios = gate.table(base, head, done.metrics)
    host = run.meta["host"]
    document = {
        "format": store.FORMAT,
        "target": question.base,
        "host_class": fingerprint.host_class(host),
        "path": str(done.path),
        "status": done.status,
        **certificate.certify(done.metrics, ratios, question.rule, each=PER_COMPARISON),
    }
    if done.status == "complete":
        _keep(document, certificate.place(host, out))
    return document


def _keep(document: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(document, indent=1, allow_nan=False), "utf-8")
    os.replace(fresh, path)

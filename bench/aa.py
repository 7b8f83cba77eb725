"""A server against itself: what this machine takes for a difference, and what it can find."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import ab, certificate, fingerprint, gate, store, summary, whole
from bench.ab import Question
from bench.drive import Watcher
from bench.errors import FINE, INTERRUPTED, INVALID, BenchError

DEFAULT_TARGET = "tickets-python"
BLOCKS, QUICK_BLOCKS = 40, 12
PER_COMPARISON = ab.BLOCKS


def asked(options: argparse.Namespace) -> Question:
    """The options of `aa`: one target on both sides, all blocks in one look."""
    target = options.target or DEFAULT_TARGET
    blocks = options.blocks or (QUICK_BLOCKS if options.quick else BLOCKS)
    wished, headers = ab.wished(options), ab.headers(options)
    return Question(target, target, wished, blocks=blocks, max_blocks=blocks, headers=headers)


def certify(question: Question, out: Path, watcher: Watcher) -> dict[str, Any]:
    """Measure the blocks and say what they tell of the machine; kept for `ab` to quote.

    The rule is that of `ab` where nothing else is said, at the first of its looks.
    """
    done = ab.paired(question, out, watcher)
    if done.failed is not None:
        raise done.failed
    run = store.read(done.path)
    if not done.metrics:
        raise BenchError(
            f"too few blocks ({done.made}) to say anything; try: --blocks {gate.FEWEST_BLOCKS}"
        )
    found = whole.of(run)
    ratios = gate.table(found.base, found.head, done.metrics)
    host = run.meta["host"]
    rule = Question(question.base, question.head, question.wish).rule
    known = certificate.certify(done.metrics, ratios, rule, each=PER_COMPARISON)
    document = {
        "format": store.FORMAT,
        "target": ab.said(question.base),
        "host_class": fingerprint.host_class(host),
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "path": str(done.path),
        "status": done.status,
        "valid": ab.is_valid(summary.document(run)["cells"], done),
        "min_effect_percent": 100 * rule.min_effect,
        "level": rule.per_look,
        **known,
        "warnings": [*done.doubts[:1], *known["doubts"]],
    }
    if done.status == "complete" and document["valid"]:
        _keep(document, certificate.place(host, out))
    return document


def code(document: Mapping[str, Any]) -> int:
    """Interrupted, invalid where calls failed, else fine: there is nothing here to be slower."""
    if document["status"] == "interrupted":
        return INTERRUPTED
    return FINE if document["valid"] else INVALID


def _keep(document: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(document, indent=1, allow_nan=False), "utf-8")
    os.replace(fresh, path)

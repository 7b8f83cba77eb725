"""Two servers live, block by block, until their difference is shown, excluded, or given up."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from bench import (
    assertions,
    blocks,
    certificate,
    gate,
    redact,
    seen,
    sides,
    store,
    summary,
)
from bench.assertions import Assertion
from bench.blocks import Pair
from bench.drive import Watcher
from bench.errors import COULD_NOT, FINE, INTERRUPTED, INVALID, SLOWER, BenchError, UsageError
from bench.gate import Metric, Rule
from bench.measure import loop_options, meta
from bench.model import Limits
from bench.prepare import Prepared, Wish
from bench.runner import undisturbed

MOST_LOST = 0.2  # of all blocks; more, and what is left is no fair sample
BLOCKS, MAX_BLOCKS, QUICK_BLOCKS = 20, 60, 8


class Question(NamedTuple):
    """What `ab` was asked: two targets as text, how many blocks, and what is to hold."""

    base: str
    head: str
    wish: Wish
    blocks: int = BLOCKS
    max_blocks: int = MAX_BLOCKS
    min_effect: float = 0.02
    setup: str | None = None
    holds: Sequence[Assertion] = ()

    @property
    def rule(self) -> Rule:
        """A look after each `blocks` blocks, up to the most: the level is shared out over them."""
        looks = max(1, math.ceil(self.max_blocks / self.blocks))
        return Rule(min_effect=self.min_effect, looks=looks)


class Blocks(NamedTuple):
    """What was measured: where it is, its metrics, and how the measuring ended."""

    path: Path
    metrics: Sequence[Metric]
    status: str
    made: int
    lost: Sequence[str]
    doubts: Sequence[str]


def asked(options: argparse.Namespace) -> Question:
    """The options of `ab` as a question; UsageError where they contradict each other."""
    blocks = options.blocks or (QUICK_BLOCKS if options.quick else BLOCKS)
    most = options.max_blocks or (blocks if options.quick else max(blocks, MAX_BLOCKS))
    if most < blocks:
        raise UsageError(f"--max-blocks {most} is less than --blocks {blocks}")
    return Question(
        options.base,
        options.head,
        wished(options),
        blocks=blocks,
        max_blocks=most,
        min_effect=options.min_effect,
        setup=options.setup,
        holds=[assertions.read(text) for text in options.asserted],
    )


def wished(options: argparse.Namespace) -> Wish:
    """What `ab` and `aa` have in common with `run`."""
    return Wish(
        transport=options.transport,
        era=options.era,
        protocol=options.protocol,
        tool=options.tool,
        arguments=options.args,
        calls=options.calls,
        warmup=options.warmup,
        quick=options.quick,
        seed=options.seed,
        pin=options.pin,
        probe=options.probe,
        limits=Limits(call_s=options.timeout, setup_s=options.setup_timeout),
    )


def code(document: Mapping[str, Any]) -> int:
    """The exit code: interrupted, invalid, slower or a failed assertion, cannot tell, fine."""
    held = [each["ok"] for each in document["assertions"]]
    if document["status"] == "interrupted":
        return INTERRUPTED
    if not document["valid"]:
        return INVALID
    if document["verdict"] == "slower" or False in held:
        return SLOWER
    if document["verdict"] == "cannot tell" or None in held:
        return COULD_NOT
    return FINE


def compare(question: Question, out: Path, watcher: Watcher) -> dict[str, Any]:
    """Measure both and decide; the document of `ab --json`, also kept as verdict.json."""
    done = paired(question, out, watcher)
    document = _document(question, done)
    store.write_verdict(done.path, document)
    return document


def paired(question: Question, out: Path, watcher: Watcher) -> Blocks:
    """Both servers made ready, and measured until the rule has enough."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(sides.server(text, question.setup))
            for text in (question.base, question.head)
        ]
        prepared = anyio.run(sides.prepared, servers, question.wish, backend_options=loop_options())
        return measured(prepared, question, out, watcher)


def measured(prepared: Prepared, question: Question, out: Path, watcher: Watcher) -> Blocks:
    """Blocks of a prepared pair into a new folder of `out`, until the rule has enough."""
    path = store.create(out, "ab")
    writer = store.Writer(path, meta(prepared))
    made: list[Metric] = []
    lost: list[str] = []
    count = 0

    async def work() -> None:
        nonlocal count, made
        order = blocks.orders(Pair(*prepared.cells), prepared.seed)
        most = question.rule.looks * question.blocks
        while count < most:
            try:
                await blocks.block(
                    count, next(order), prepared.job, writer, watcher=watcher, seed=prepared.seed
                )
            except BenchError as error:
                lost.append(str(error))
                if count == 0 or len(lost) > MOST_LOST * most:
                    raise
            count += 1
            if count % question.blocks == 0:
                made = list(decided(path, question.rule))
                if made and gate.verdict(made) != "cannot tell":
                    return

    async def main() -> str:
        return await undisturbed(work, prepared.job.placement)

    try:
        status = anyio.run(main, backend_options=loop_options())
    except* BenchError as group:
        writer.close("incomplete")
        raise _first(group) from None
    writer.close(status)
    doubts = list(sides.differences(prepared.job.servers))
    return Blocks(path, made or decided(path, question.rule), status, count, lost, doubts)


def decided(path: Path, rule: Rule) -> tuple[Metric, ...]:
    """What the blocks of a folder say so far; those that lost a side are none."""
    run = store.read(path)
    base, head = (dict(seen.samples(seen.cell_of(run, asked))) for asked in run.meta["cells"])
    return gate.decide(base, head, rule)


def _document(question: Question, done: Blocks) -> dict[str, Any]:
    run = store.read(done.path)
    whole = summary.document(run)
    head = whole["cells"][1]
    held = [assertions.held(each, head) for each in question.holds]
    return {
        "format": store.FORMAT,
        **gate.document(done.metrics, question.rule),
        "run": done.path.name,
        "path": str(done.path),
        "status": done.status,
        "base": _said(question.base),
        "head": _said(question.head),
        "cell": head["cell"],
        "blocks_made": done.made,
        "blocks_lost": len(done.lost),
        "valid": _valid(whole["cells"]),
        "assertions": held,
        "seed": run.meta["seed"],
        "machine": certificate.quoted(run.meta["host"], done.path.parent),
        "warnings": [*done.doubts, *done.lost[:1]],
    }


def _said(text: str) -> str:
    """A target as it may be shown: without what an address or an option keeps secret."""
    if text.startswith(("http://", "https://")):
        return redact.url(text)
    return " ".join(redact.words(text.split()))


def _valid(cells: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the calls of both sides did what was asked; a failure that is quick is no success."""
    return all(cell["calls"] and not cell["failed_calls"] for cell in cells)


def _first(group: BaseExceptionGroup[BenchError]) -> BenchError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, BenchError)
    return error

"""Two servers live, block by block, until their difference is shown, excluded, or given up."""

from __future__ import annotations

import argparse
import contextlib
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
    sides,
    store,
    summary,
    target,
    whole,
)
from bench.assertions import Assertion
from bench.blocks import Pair
from bench.drive import Watcher
from bench.errors import (
    COULD_NOT,
    FINE,
    INTERRUPTED,
    INVALID,
    SLOWER,
    BenchError,
    LaunchEnded,
    UsageError,
)
from bench.gate import Metric, Rule
from bench.measure import cleaned, loop_options, meta
from bench.model import Cell, Headers, Limits
from bench.prepare import Prepared, Wish
from bench.runner import undisturbed
from bench.store import Writer

MOST_LOST = 0.2  # of all blocks; more, and what is left is no fair sample
BLOCKS, MAX_BLOCKS, QUICK_BLOCKS = 20, 60, 12


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

    headers: Headers = ()

    @property
    def looks(self) -> Sequence[int]:
        """After how many blocks to look: each `blocks`, and last at the most."""
        return (*range(self.blocks, self.max_blocks, self.blocks), self.max_blocks)

    @property
    def rule(self) -> Rule:
        """The level is shared out over all looks that are planned."""
        return Rule(min_effect=self.min_effect, looks=len(self.looks))


class Blocks(NamedTuple):
    """What was measured: where it is, its metrics, and how the measuring ended.

    `failed`: what kept the first block, and so all of them, from being measured.
    """

    path: Path
    metrics: Sequence[Metric]
    status: str
    made: int
    lost: Sequence[str]
    doubts: Sequence[str]
    failed: BenchError | None = None


class Compared(NamedTuple):
    """The document of `ab --json`, and the error that kept a side from being measured."""

    document: Mapping[str, Any]
    failed: BenchError | None


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
        headers=headers(options),
    )


def headers(options: argparse.Namespace) -> Headers:
    """What goes with each request to a side that is a URL."""
    return tuple(target.header(text) for text in options.header)


def wished(options: argparse.Namespace) -> Wish:
    """What `ab` and `aa` have in common with `run`."""
    return Wish(
        names=(options.scenario,) if options.scenario else (),
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


def compare(question: Question, out: Path, watcher: Watcher) -> Compared:
    """Measure both and decide; the document is also kept as verdict.json."""
    done = paired(question, out, watcher)
    found = document(question, done)
    store.write_verdict(done.path, found)
    return Compared(found, done.failed)


def paired(question: Question, out: Path, watcher: Watcher) -> Blocks:
    """Both servers made ready, and measured until the rule has enough."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(sides.server(text, question.setup, question.headers))
            for text in (question.base, question.head)
        ]
        with cleaned(servers):
            prepared = anyio.run(
                sides.prepared, servers, question.wish, backend_options=loop_options()
            )
        return measured(prepared, question, out, watcher)


def measured(prepared: Prepared, question: Question, out: Path, watcher: Watcher) -> Blocks:
    """Blocks of a prepared pair into a new folder of `out`, until the rule has enough."""
    secrets = [each for one in prepared.job.servers.values() for each in redact.secrets_of(one)]
    path = store.create(out, "ab")
    writer = store.Writer(path, meta(prepared), secrets=secrets)
    course = _Course(prepared, question, writer, watcher)
    status = "incomplete"
    try:
        status = anyio.run(course.run, backend_options=loop_options())
    finally:
        for error in course.lost:
            error.args = (redact.text(str(error), secrets),)
        writer.close(status)
    failed = course.lost[0] if course.failed else None
    doubts = list(sides.differences(prepared.job.servers))
    lost = [str(error) for error in course.lost]
    status = "incomplete" if failed else status
    return Blocks(path, decided(path, question.rule), status, course.made, lost, doubts, failed)


class _Course:
    """Block after block; after each look's number it is decided whether to go on."""

    def __init__(
        self, prepared: Prepared, question: Question, writer: Writer, watcher: Watcher
    ) -> None:
        self.made = 0
        self.lost: list[BenchError] = []
        self.failed = False
        self._prepared = prepared
        self._question = question
        self._writer = writer
        self._watcher = watcher

    async def run(self) -> str:
        """How it ended: `complete`, or `interrupted`."""
        return await undisturbed(self._look_after_look, self._prepared.job.placement)

    async def _look_after_look(self) -> None:
        order = blocks.orders(Pair(*self._prepared.cells), self._prepared.seed)
        for look in self._question.looks:
            while self.made < look:
                if not await self._block(next(order), look):
                    return
            found = decided(self._writer.path, self._question.rule)
            if gate.verdict(found) != "cannot tell":
                return

    async def _block(self, order: Sequence[Cell], look: int) -> bool:
        """Whether there is any use in another block."""
        job, seed = self._prepared.job, self._prepared.seed
        turns = blocks.turns(self.made, order)
        self._watcher.launching(turns[0], 2 * self.made, 2 * look)
        try:
            await blocks.block(turns, job, self._writer, watcher=self._watcher, seed=seed)
        except BenchError as error:
            self.lost.append(error)
            self.failed = self.made == 0 and not isinstance(error, LaunchEnded)
            if self.failed or len(self.lost) > MOST_LOST * self._question.looks[-1]:
                return False
        finally:
            self.made += 1
        return True


def decided(path: Path, rule: Rule) -> tuple[Metric, ...]:
    """What the blocks of a folder say so far; those that lost a side are none."""
    found = whole.of(store.read(path))
    return gate.decide(found.base, found.head, rule)


def document(question: Question, done: Blocks) -> dict[str, Any]:
    """A comparison that was broken off, or whose calls failed, has figures but no verdict.

    An interrupt is no look that was planned, and what failed was not what was asked.
    """
    run = store.read(done.path)
    found = summary.document(run)
    head = found["cells"][1]
    decision = gate.document(done.metrics, question.rule)
    valid = is_valid(found["cells"], done)
    if not valid or done.status != "complete":
        decision["verdict"] = "cannot tell"
    return {
        "format": store.FORMAT,
        **decision,
        "run": done.path.name,
        "path": str(done.path),
        "status": done.status,
        "base": said(question.base),
        "head": said(question.head),
        "cell": head["cell"],
        "blocks_made": done.made,
        "blocks_lost": len(done.lost),
        "failed": None if done.failed is None else str(done.failed),
        "most_blocks": question.looks[-1],
        "valid": valid,
        "assertions": [assertions.held(each, head) for each in question.holds],
        "seed": run.meta["seed"],
        "machine": certificate.quoted(run.meta["host"], done.path.parent),
        "warnings": [*done.doubts, *whole.of(run).doubts, *done.lost[:1]],
    }


def said(text: str) -> str:
    """A target as it may be shown: without what an address or an option keeps secret."""
    if text.startswith(("http://", "https://")):
        return redact.url(text)
    return " ".join(redact.words(text.split()))


def is_valid(cells: Sequence[Mapping[str, Any]], done: Blocks) -> bool:
    """Whether the calls of both sides did what was asked; a failure that is quick is no success.

    A side that could not be measured has failed, which the verdict says, and made no bad calls.
    """
    failed = any(cell["failed_calls"] for cell in cells)
    unmeasured = done.lost and not done.metrics
    return done.failed is not None or not (failed or unmeasured)

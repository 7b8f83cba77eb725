"""Two servers live, block by block, until their difference is shown, excluded, or given up."""

from __future__ import annotations

import contextlib
import math
import random
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import msgspec

from bench import assertions, blocks, catalog, checkout, gate, host, prepare, seen, store, summary
from bench import target as targets
from bench.assertions import Assertion
from bench.blocks import Pair
from bench.drive import Job, Watcher
from bench.errors import BenchError, UsageError
from bench.gate import Metric, Rule
from bench.measure import loop_options, meta
from bench.model import ERAS, TRANSPORTS, Cell, Scenario, Server
from bench.prepare import Prepared, Wish
from bench.runner import undisturbed

SIDES = ("base", "head")
GIT = "git:"
MOST_LOST = 0.2  # of all blocks; more, and what is left is no fair sample
BLOCKS, MAX_BLOCKS, QUICK_BLOCKS = 20, 60, 8
CALLS, QUICK_CALLS, WARMUP = 60, 30, 5


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


def compare(question: Question, out: Path, watcher: Watcher) -> dict[str, Any]:
    """Measure both and decide; the document of `ab --json`, also kept as verdict.json."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(_server(text, question.setup))
            for text in (question.base, question.head)
        ]
        prepared = anyio.run(_prepared, servers, question.wish, backend_options=loop_options())
        done = measured(prepared, question, out, watcher)
    document = _document(question, prepared, done)
    store.write_verdict(done.path, document)
    return document


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
    return Blocks(path, made or decided(path, question.rule), status, count, lost)


def decided(path: Path, rule: Rule) -> tuple[Metric, ...]:
    """What the blocks of a folder say so far; those that lost a side are none."""
    run = store.read(path)
    base, head = (dict(seen.samples(seen.cell_of(run, asked))) for asked in run.meta["cells"])
    return gate.decide(base, head, rule)


@contextlib.contextmanager
def _server(text: str, setup: str | None) -> Iterator[Server]:
    """The server that one string names; a revision is checked out for as long."""
    if text.startswith(GIT):
        revision, dashes, command = text.removeprefix(GIT).partition(" -- ")
        if not dashes or not command.strip():
            raise UsageError(f"\"{text}\": say it as 'git:REVISION -- COMMAND ARG…'")
        with checkout.worktree(revision.strip(), setup) as folder:
            yield msgspec.structs.replace(
                targets.from_command(shlex.split(command)), cwd=str(folder)
            )
        return
    if text.startswith(("http://", "https://")):
        yield targets.from_url(text)
    elif text in catalog.recipe_files():
        yield catalog.server(text)
    else:
        yield targets.from_command(shlex.split(text))


async def _prepared(servers: Sequence[Server], wish: Wish) -> Prepared:
    """One cell a side, on the first transport and era that both have, asked the same."""
    transport = _shared("transport", wish.transport or TRANSPORTS, [s.transports for s in servers])
    scenario = await _scenario(servers, wish)
    era = _shared("era", wish.era or ERAS, [scenario.era, *(s.eras for s in servers)])
    probe = "off" if wish.probe == "off" else "on"
    named = {
        side: msgspec.structs.replace(server, name=side)
        for side, server in zip(SIDES, servers, strict=True)
    }
    cells = [
        Cell(
            name=f"{scenario.name}/{side}/{transport}/{era}",
            scenario=scenario.name,
            server=side,
            transport=transport,
            era=era,
            variant={"probe": probe},
            protocol_version=wish.protocol,
            capabilities=scenario.capabilities,
        )
        for side in SIDES
    ]
    job = Job(
        scenarios={scenario.name: scenario},
        servers=named,
        limits=wish.limits,
        placement=host.placement(wish.pin),
        words={side: prepare.words_of(server) for side, server in zip(SIDES, servers, strict=True)},
    )
    seed = random.SystemRandom().randrange(1, 1_000_000) if wish.seed is None else wish.seed
    return Prepared(scenario.name, cells, (), job, seed)


async def _scenario(servers: Sequence[Server], wish: Wish) -> Scenario:
    """The scenario of a server that both sides are, else what the base can be asked."""
    names = {server.name for server in servers if server.folder is not None}
    known = names.pop() if len(names) == 1 else None
    if known in catalog.scenario_files() and wish.tool is None:
        scenario = catalog.scenario(known or "")
    else:
        scenario = await prepare.explore(servers[0], wish)
    calls = wish.calls or (QUICK_CALLS if wish.quick else CALLS)
    warmup = WARMUP if wish.warmup is None else wish.warmup
    return msgspec.structs.replace(scenario, calls=calls, warmup=warmup, variants={})


def _shared(what: str, wanted: Sequence[str], sides: Sequence[Sequence[str]]) -> Any:
    for value in wanted:
        if all(value in side for side in sides):
            return value
    raise UsageError(f"base and head have no {what} in common; try: --{what}")


def _document(question: Question, prepared: Prepared, done: Blocks) -> dict[str, Any]:
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
        "base": question.base,
        "head": question.head,
        "cell": head["cell"],
        "blocks_made": done.made,
        "blocks_lost": len(done.lost),
        "valid": _valid(whole["cells"]),
        "assertions": held,
        "seed": prepared.seed,
        "warnings": [*_differences(prepared.job.servers), *(line for line in done.lost[:1])],
    }


def _valid(cells: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the calls of both sides did what was asked; a failure that is quick is no success."""
    return all(cell["calls"] and not cell["failed_calls"] for cell in cells)


def _differences(servers: Mapping[str, Server]) -> Iterator[str]:
    if (
        len({server.http is not None and not server.http.command for server in servers.values()})
        > 1
    ):
        yield "one side runs already and the other is started for each block: setups do not compare"


def _first(group: BaseExceptionGroup[BenchError]) -> BenchError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, BenchError)
    return error

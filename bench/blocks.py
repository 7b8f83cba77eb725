"""Blocks of two servers that live at the same time, their calls interleaved at random."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from bench.drive import Job, Launched, Watcher, launched
from bench.model import Cell, Phase, Step, Turn
from bench.store import Writer

Schedule: TypeAlias = Iterator[tuple[Phase, Step]]


class Pair(NamedTuple):
    """The two cells that are told apart."""

    base: Cell
    head: Cell


def orders(pair: Pair, seed: int) -> Iterator[tuple[Cell, Cell]]:
    """Which cell starts first, block for block: either as often as the other, in random order."""
    shuffler = random.Random(seed)
    both = [(pair.base, pair.head), (pair.head, pair.base)]
    while True:
        yield from shuffler.sample(both, 2)


def turns(number: int, order: Sequence[Cell]) -> tuple[Turn, Turn]:
    """The two launches of a block, in the order of their starts."""
    first, second = (Turn(cell, 2 * number + at, number) for at, cell in enumerate(order))
    return first, second


async def block(
    pair: tuple[Turn, Turn], job: Job, writer: Writer, *, watcher: Watcher, seed: int
) -> None:
    """One block: a fresh process of each side, both alive, their calls in random order.

    Raises BenchError where one side could not be called, or ended early: the block is then none.
    """
    first, second = pair
    async with launched(first, job, writer, watcher) as one:
        due = await _first_call(one)
        async with launched(second, job, writer, watcher) as other:
            sides = [(one, due), (other, await _first_call(other))]
            await _interleaved(sides, random.Random(seed * 1_000_003 + first.round))


async def _first_call(side: Launched) -> Schedule:
    """At once: the way to a first result shall not contain the other side's start."""
    due = side.schedule()
    await side.call(*next(due))
    return due


async def _interleaved(sides: Sequence[tuple[Launched, Schedule]], shuffler: random.Random) -> None:
    for steps in zip(*(due for _, due in sides), strict=True):
        for at in shuffler.sample(range(len(sides)), len(sides)):
            await sides[at][0].call(*steps[at])

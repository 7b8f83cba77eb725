"""Two targets as the two sides of one comparison: found, checked out, asked the same."""

from __future__ import annotations

import contextlib
import random
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bench import catalog, checkout, host, prepare
from bench import target as targets
from bench.drive import Job
from bench.errors import UsageError
from bench.model import ERAS, TRANSPORTS, Cell, Scenario, Server
from bench.prepare import Prepared, Wish

NAMES = ("base", "head")
GIT = "git:"
CALLS, QUICK_CALLS, WARMUP = 60, 30, 5


@contextlib.contextmanager
def server(text: str, setup: str | None) -> Iterator[Server]:
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


async def prepared(servers: Sequence[Server], wish: Wish) -> Prepared:
    """One cell a side, on the first transport and era that both have, asked the same."""
    transport = _shared("transport", wish.transport or TRANSPORTS, [s.transports for s in servers])
    scenario = await _scenario(servers, wish)
    era = _shared("era", wish.era or ERAS, [scenario.era, *(s.eras for s in servers)])
    probe = "off" if wish.probe == "off" else "on"
    named = {
        side: msgspec.structs.replace(server, name=side)
        for side, server in zip(NAMES, servers, strict=True)
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
        for side in NAMES
    ]
    job = Job(
        scenarios={scenario.name: scenario},
        servers=named,
        limits=wish.limits,
        placement=host.placement(wish.pin),
        words={side: prepare.words_of(server) for side, server in zip(NAMES, servers, strict=True)},
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


def differences(servers: Mapping[str, Server]) -> Iterator[str]:
    """What else sets the two sides apart."""
    if (
        len({server.http is not None and not server.http.command for server in servers.values()})
        > 1
    ):
        yield "one side runs already and the other is started for each block: setups do not compare"

"""Two targets as the two sides of one comparison: found, checked out, asked the same."""

from __future__ import annotations

import contextlib
import random
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bench import catalog, checkout, finder, host, prepare
from bench import target as targets
from bench.drive import Job
from bench.errors import UsageError
from bench.model import ERAS, TRANSPORTS, Cell, EraName, Headers, Scenario, Server
from bench.prepare import Prepared, Wish

NAMES = ("base", "head")
GIT = "git:"
CALLS, QUICK_CALLS, WARMUP = 60, 30, 5


@contextlib.contextmanager
def server(text: str, setup: str | None, headers: Headers = ()) -> Iterator[Server]:
    """The server that one string names; a revision is checked out for as long."""
    if text.startswith(GIT):
        revision, dashes, command = text.removeprefix(GIT).partition(" -- ")
        if not dashes or not command.strip():
            raise UsageError(f"\"{text}\": say it as 'git:REVISION -- COMMAND ARG…'")
        started = targets.from_command(_split(command))
        with checkout.worktree(revision.strip(), setup) as folder:
            yield msgspec.structs.replace(started, cwd=str(folder))
        return
    if text.startswith(("http://", "https://")):
        yield targets.from_url(text, headers)
    elif text in catalog.recipe_files():
        yield catalog.server(text)
    else:
        yield targets.from_command(_split(text))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f'"{command}" is no command line: {error}') from error


async def prepared(servers: Sequence[Server], wish: Wish) -> Prepared:
    """One cell a side, on the first transport and era that both have, asked the same."""
    transport = _shared("transport", wish.transport or TRANSPORTS, [s.transports for s in servers])
    scenario = await _scenario(servers, wish)
    spoken = [await _eras(server, wish) for server in servers[1:]]
    era = _shared("era", wish.era or ERAS, [scenario.era, servers[0].eras, *spoken])
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
    """What is asked for by name, else what asks a side of ours, else what the base can be asked."""
    chosen = _chosen(servers, wish)
    if chosen is None:
        chosen = await prepare.explore(servers[0], wish)
    elif servers[0].folder is None:
        chosen = msgspec.structs.replace(chosen, era=await _eras(servers[0], wish))
    calls = wish.calls or (QUICK_CALLS if wish.quick else CALLS)
    warmup = WARMUP if wish.warmup is None else wish.warmup
    return msgspec.structs.replace(chosen, calls=calls, warmup=warmup, variants={})


def _chosen(servers: Sequence[Server], wish: Wish) -> Scenario | None:
    """The scenario that is named, else the one that is most about a side of ours: no sweep."""
    if wish.names:
        return catalog.scenario(wish.names[0])
    names = {server.name for server in servers if server.folder is not None}
    if wish.tool is not None or not names:
        return None
    known = [catalog.scenario(name) for name in catalog.scenario_files()]
    about = [each for each in known if names & {*each.servers}]
    return min(
        about, key=lambda one: (len(one.servers), len(one.call), len(one.variants)), default=None
    )


async def _eras(server: Server, wish: Wish) -> tuple[EraName, ...]:
    """The eras that a recipe names; those of another server are found out on a launch."""
    if server.folder is not None:
        return server.eras
    eras = [era for era in server.eras if not wish.era or era in wish.era]
    found = await finder.find(server, eras, wish.limits, prepare.words_of(server))
    return found.eras


def _shared(what: str, wanted: Sequence[str], sides: Sequence[Sequence[str]]) -> Any:
    for value in wanted:
        if all(value in side for side in sides):
            return value
    raise UsageError(f"base and head have no {what} in common; try: --{what}")


def differences(servers: Mapping[str, Server]) -> Iterator[str]:
    """What else sets the two sides apart, or takes from what blocks can tell."""
    running = [
        side
        for side, server in servers.items()
        if server.http is not None and not server.http.command
    ]
    if len(running) == 1:
        yield "one side runs already and the other is started for each block: setups do not compare"
    if running:
        yield (
            f"{' and '.join(running)} runs already: its process is the same in all blocks, so what "
            "sets one start of it apart from the next is not in the interval"
        )

"""What a user asked for to a plan: scenarios, servers and options become cells and turns."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench import catalog, finder, host, needs, plan, spans
from bench.cache import Shelf
from bench.drive import ONE_PER_CALL, Job
from bench.era import VERSIONS_OF, era_of_version
from bench.errors import BenchError, UsageError, nearest
from bench.model import (
    ERAS,
    OWN,
    TRANSPORTS,
    Cell,
    EraName,
    Limits,
    Scenario,
    Server,
    Step,
    Turn,
)
from bench.scenario import check_variant
from bench.variants import VARIANTS

QUICK = {"launches": 9, "calls": 20, "warmup": 2}
DATED = re.compile(r"\d{4}-\d\d-\d\d")
PROBES: Mapping[str, tuple[str, ...]] = {
    "auto": ("on",),
    "off": ("off",),
    "both": ("off", "on"),
}


class Wish(NamedTuple):
    """The options of `run` as they were given; None or empty where one was not."""

    names: Sequence[str] = ()
    target: Server | None = None
    transport: Sequence[str] = ()
    era: Sequence[str] = ()
    variants: Mapping[str, tuple[str, ...]] = {}
    protocol: str | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    calls: int | None = None
    launches: int | None = None
    warmup: int | None = None
    quick: bool = False
    seed: int | None = None
    pin: str = "auto"
    probe: str | None = None
    spans: bool = False
    limits: Limits = Limits()


class Prepared(NamedTuple):
    """A run ready to start."""

    name: str
    cells: Sequence[Cell]
    turns: Sequence[Turn]
    job: Job
    seed: int


async def prepare(wish: Wish) -> Prepared:
    """Resolve every name, find out what is not said, and lay out the launches."""
    if wish.spans:
        spans.require()
    scenarios: dict[str, Scenario] = {}
    servers: dict[str, Server] = {}
    cells: list[Cell] = []
    for scenario, known in await _asked(wish):
        adjusted = _adjusted(scenario, wish)
        scenarios[adjusted.name] = adjusted
        servers.update({server.name: server for server in known})
        cells += plan.cells(adjusted, known, protocol=wish.protocol)
    seed = random.SystemRandom().randrange(1, 1_000_000) if wish.seed is None else wish.seed
    launches = {cell.name: scenarios[cell.scenario].launches for cell in cells}
    job = Job(
        scenarios=scenarios,
        servers=servers,
        limits=wish.limits,
        placement=host.placement(wish.pin),
        words={server.name: words_of(server) for server in servers.values()},
        spans=wish.spans,
        shelves={cell.name: Shelf() for cell in cells if scenarios[cell.scenario].honour_cache},
    )
    turns = plan.turns(cells, launches=launches, seed=seed)
    return Prepared("+".join(scenarios), cells, turns, job, seed)


def words_of(server: Server) -> Mapping[str, str]:
    """What fills a recipe's `{python}`, `{node}`, `{work}` …; BenchError where it is not installed.

    Working files that are not there yet are made.
    """
    folder = None if server.folder is None else Path(server.folder)
    lacking = needs.missing(server.name, folder, server.needs)
    if lacking:
        raise BenchError(lacking)
    needs.prepare(server.name, folder, server.needs)
    return needs.substitutions(server.name, folder, server.needs)


async def _asked(wish: Wish) -> list[tuple[Scenario, tuple[Server, ...]]]:
    """Each scenario with the servers to put it to; a server's name stands for its scenario."""
    if wish.target is not None and not wish.names:
        return [(await explore(wish.target, wish), (wish.target,))]
    found: list[tuple[Scenario, tuple[Server, ...]]] = []
    for name in wish.names or [catalog.DEFAULT_SCENARIO]:
        if name not in catalog.scenario_files() and name in catalog.recipe_files():
            server = catalog.server(name)
            found.append((await explore(server, wish), (server,)))
            continue
        scenario = catalog.scenario(name)
        known = catalog.servers(scenario.servers) if wish.target is None else (wish.target,)
        if not known:
            raise UsageError(f'scenario "{scenario.name}" names no server; try: -- COMMAND ARG…')
        found.append((scenario, known))
    return found


async def explore(server: Server, wish: Wish) -> Scenario:
    """A scenario for a server that none was written for: its eras, and a tool it can be asked."""
    eras = _named(wish.era, ERAS, "--era") or server.eras
    found = await finder.find(server, eras, wish.limits, words_of(server))
    if not found.announced:
        raise UsageError(
            f'server "{server.name}" announces no tools, and so was not asked for them: there is '
            "nothing to call; try: trace, which shows what it does announce"
        )
    asked = finder.choose(found.tools, wish.tool or server.null_tool, wish.arguments or {})
    return Scenario(
        name=OWN if server.folder is None else server.name,
        call=(asked,),
        servers=(server.name,),
        transport=server.transports,
        era=found.eras,
    )


def one_cell(server: Server, wish: Wish) -> Cell:
    """The one cell to trace: what was asked for, else the server's first; UsageError if none."""
    transports = _named(wish.transport, server.transports, "--transport") or server.transports
    eras = _named(wish.era, ERAS, "--era") or server.eras
    if wish.protocol:
        eras = (_era_of(wish.protocol, wish.era),)
    for key, values in wish.variants.items():
        check_variant(key, values, where=f"--{key}")
    scenario = known_scenario(server, wish)
    return Cell(
        name="trace",
        scenario="trace",
        server=server.name,
        transport=transports[0],
        era=_opened_in(wish, eras),
        variant={key: values[0] for key, values in wish.variants.items()},
        protocol_version=wish.protocol,
        capabilities=scenario.capabilities if scenario is not None else {},
    )


def _opened_in(wish: Wish, eras: Sequence[EraName]) -> EraName:
    """The first of these eras that can be opened as asked; UsageError where none can."""
    (opening, *_) = (*wish.variants.get("opening", ()), "known")
    fitting = VARIANTS["opening"].eras_of.get(opening, ERAS)
    found = next((era for era in eras if era in fitting), None)
    if found is None:
        raise UsageError(
            f"--opening {opening} means nothing in the era {', '.join(eras)}: it is for "
            f"{', '.join(fitting)}"
        )
    return found


def known_scenario(server: Server, wish: Wish) -> Scenario | None:
    """The scenario that is named like a server of ours; None for a server of the user's own."""
    if server.folder is None or wish.target is not None:
        return None
    return catalog.scenario(server.name) if server.name in catalog.scenario_files() else None


def _adjusted(scenario: Scenario, wish: Wish) -> Scenario:
    """The scenario with what the user said on the command line put over it."""
    changes: dict[str, Any] = dict(QUICK) if wish.quick else {}
    for key in ("launches", "calls", "warmup"):
        if (value := getattr(wish, key)) is not None:
            changes[key] = value
    if wish.transport:
        changes["transport"] = _named(wish.transport, TRANSPORTS, "--transport")
    if wish.era:
        changes["era"] = _named(wish.era, ERAS, "--era")
    if wish.protocol:
        changes["era"] = (_era_of(wish.protocol, wish.era),)
    if wish.tool:
        changes["call"] = (Step(tool=wish.tool, arguments=wish.arguments or {}),)
    elif wish.arguments is not None:
        first = scenario.call[0]
        changes["call"] = (Step(tool=first.tool, arguments=wish.arguments),)
    for key, values in wish.variants.items():
        check_variant(key, values, where=f"--{key}")
    if wish.calls is not None and wish.variants.get("policy") == (ONE_PER_CALL,):
        raise UsageError(f"--policy {ONE_PER_CALL} makes one call a launch; try: --launches")
    if wish.probe is not None and wish.probe not in PROBES:
        raise UsageError(f'--probe "{wish.probe}"{nearest(wish.probe, PROBES)}')
    asked = {} if wish.probe is None else {"probe": PROBES[wish.probe]}
    usual = {"probe": PROBES["auto"]}
    changes["variants"] = {**usual, **scenario.variants, **asked, **wish.variants}
    return msgspec.structs.replace(scenario, **changes)


def _named(words: Sequence[str], known: Sequence[Any], option: str) -> tuple[Any, ...]:
    for word in words:
        if word not in known:
            raise UsageError(f'{option} "{word}"{nearest(word, known)}')
    return tuple(words)


def _era_of(version: str, eras: Sequence[str]) -> EraName:
    """The era of a version; one that is not known is proposed where one era is named for it."""
    known = [version for versions in VERSIONS_OF.values() for version in versions]
    named: tuple[EraName, ...] = _named(eras, ERAS, "--era")
    if version in known:
        return era_of_version(version)
    if len(named) == 1 and DATED.fullmatch(version):
        return named[0]
    raise UsageError(
        f'--protocol "{version}" is not known (to propose it all the same, name one --era)'
        f"{nearest(version, known)}"
    )

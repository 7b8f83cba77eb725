"""Scenario, servers and axes to cells, and cells to the order in which they are launched."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from bench.errors import UsageError
from bench.model import ERAS, Cell, EraName, Scenario, Server, Transport, Turn
from bench.variants import VARIANTS


def cells(
    scenario: Scenario, servers: Sequence[Server], *, protocol: str | None = None
) -> tuple[Cell, ...]:
    """Every cell of the scenario that these servers have; UsageError where there is none.

    A variant counts only where it means something: `response` does not multiply stdio cells.
    """
    for server in servers:
        _check_numbered(scenario, server)
    found = tuple(
        _cell(scenario, server, transport, era, variant, protocol)
        for server in servers
        for transport in scenario.transport
        for era in scenario.era
        if transport in server.transports and era in server.eras
        for variant in _variants(scenario, transport, era)
    )
    if not found:
        raise UsageError(
            f"nothing to measure: {_have(servers)}, but asked for is transport "
            f"{', '.join(scenario.transport)} with era {', '.join(scenario.era)}"
            f"{_no_url(scenario, servers)}"
        )
    return found


def _check_numbered(scenario: Scenario, server: Server) -> None:
    """An axis of numbers needs an option of the server's."""
    for axis in scenario.variants:
        if not VARIANTS[axis].values and axis not in server.options:
            raise UsageError(
                f"{server.name} has no option for {axis}; its recipe would say: options = "
                f'{{{axis} = ["--…", "{{{axis}}}"]}}'
            )


def turns(cells: Sequence[Cell], *, launches: Mapping[str, int], seed: int) -> tuple[Turn, ...]:
    """Launches in the order to run them: round by round, each cell once a round, shuffled.

    `launches` gives the rounds of each cell by its name. Drift of the machine then hits all
    cells alike, and a round is a block of pairs.
    """
    shuffler = random.Random(seed)
    order: list[Turn] = []
    for round in range(max(launches.values(), default=0)):
        due = [cell for cell in cells if round < launches[cell.name]]
        for cell in shuffler.sample(due, len(due)):
            order.append(Turn(cell=cell, launch=len(order), round=round))
    return tuple(order)


def _cell(
    scenario: Scenario,
    server: Server,
    transport: Transport,
    era: EraName,
    variant: Mapping[str, str],
    protocol: str | None,
) -> Cell:
    varied = "".join(
        f"/{key}={value}" for key, value in variant.items() if len(scenario.variants[key]) > 1
    )
    return Cell(
        name=f"{scenario.name}/{server.name}/{transport}/{era}{varied}",
        scenario=scenario.name,
        server=server.name,
        transport=transport,
        era=era,
        variant=variant,
        protocol_version=protocol,
        capabilities=scenario.capabilities,
    )


def _variants(scenario: Scenario, transport: Transport, era: EraName) -> Iterator[dict[str, str]]:
    applies = {
        key: values
        for key in scenario.variants
        if transport in VARIANTS[key].transports and (values := _values(scenario, key, era))
    }
    for values in itertools.product(*applies.values()):
        yield dict(zip(applies, values, strict=True))


def _values(scenario: Scenario, key: str, era: EraName) -> tuple[str, ...]:
    """The values of a variant that mean something in this era."""
    axis = VARIANTS[key]
    if era not in axis.eras:
        return ()
    return tuple(v for v in scenario.variants[key] if era in axis.eras_of.get(v, ERAS))


def _no_url(scenario: Scenario, servers: Sequence[Server]) -> str:
    """What helps where HTTP is asked of a command line."""
    if "http" in scenario.transport and all(server.http is None for server in servers):
        return "; try: --url with the address of a server that runs"
    return ""


def _have(servers: Sequence[Server]) -> str:
    return "; ".join(
        f"{server.name} has transport {', '.join(server.transports)} "
        f"with era {', '.join(server.eras)}"
        for server in servers
    )

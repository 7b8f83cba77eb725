"""Every recipe that we ship answers on each transport and era it has; labels are what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench import catalog, needs
from bench.errors import FINE
from tests.outside import Program, Said

FEW = ("--json", "-r", "1", "-n", "2", "-w", "0", "--pin", "none")
STATEFUL, STATELESS = "2025-11-25", "2026-07-28"
# Cell → protocol version, session, form of the response.
SEEN: Mapping[str, tuple[str, str, str]] = {
    "biomcp/biomcp/stdio/stateful": (STATEFUL, "kept", "line"),
    "biomcp/biomcp/stdio/stateless": (STATELESS, "none", "line"),
    "biomcp/biomcp/http/stateful": (STATEFUL, "kept", "sse"),
    "biomcp/biomcp/http/stateless": (STATELESS, "none", "json"),
    "desk/desk/stdio/stateful": (STATEFUL, "kept", "line"),
    "desk/desk/stdio/stateless": (STATELESS, "none", "line"),
    "desk/desk/http/stateful": (STATEFUL, "kept", "sse"),
    "desk/desk/http/stateless": (STATELESS, "none", "json"),
    "fetch/fetch/stdio/stateful": (STATEFUL, "kept", "line"),
    "fetch/fetch/stdio/stateless": (STATELESS, "none", "line"),
    "filesystem/filesystem/stdio/stateful": (STATEFUL, "kept", "line"),
    "git/git/stdio/stateful": (STATEFUL, "kept", "line"),
    "git/git/stdio/stateless": (STATELESS, "none", "line"),
    "leanspec/leanspec/stdio/stateful": ("2024-11-05", "kept", "line"),
    "mcp-time/mcp-time/stdio/stateful": ("2025-03-26", "kept", "line"),
    "mcp-time/mcp-time/http/stateful": ("2025-03-26", "kept", "json"),
    "mcptmp/mcptmp/stdio/stateful": (STATEFUL, "kept", "line"),
    "mcptmp/mcptmp/stdio/stateless": (STATELESS, "none", "line"),
    "mcptmp/mcptmp/http/stateful": (STATEFUL, "none", "sse"),
    "mcptmp/mcptmp/http/stateless": (STATELESS, "none", "sse"),
    "memory/memory/stdio/stateful": (STATEFUL, "kept", "line"),
    "sdks/tickets-fastmcp/http/stateful": (STATEFUL, "kept", "sse"),
    "sdks/tickets-fastmcp/http/stateless": (STATELESS, "none", "json"),
    "sdks/tickets-lowlevel/http/stateful": (STATEFUL, "kept", "sse"),
    "sdks/tickets-lowlevel/http/stateless": (STATELESS, "none", "json"),
    "sdks/tickets-python/http/stateful": (STATEFUL, "kept", "sse"),
    "sdks/tickets-python/http/stateless": (STATELESS, "none", "json"),
    "sdks/tickets-ts1/http/stateful": (STATEFUL, "kept", "sse"),
    "sdks/tickets-ts2/http/stateful": (STATEFUL, "none", "sse"),
    "sdks/tickets-ts2/http/stateless": (STATELESS, "none", "json"),
    "sqlite/sqlite/stdio/stateful": (STATEFUL, "kept", "line"),
}
# What `test_real_servers.py` measures, or `test_tickets.py` asks.
ELSEWHERE = {"catalogue", "everything", "payload", "tickets", "time"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Said, ...]:
    """Two runs: the desks over HTTP, and every other scenario for which this is the machine."""
    names = {cell.partition("/")[0] for cell in SEEN} - {"sdks"}
    here = [name for name in sorted(names) if needs.runs_here(catalog.server(name).needs)]
    runs = (here, ["sdks", "--transport", "http"])
    return tuple(Program(tmp_path_factory.mktemp("recipes"))("run", *run, *FEW) for run in runs)


@pytest.fixture(scope="module")
def cells(asked: tuple[Said, ...]) -> Mapping[str, Mapping[str, Any]]:
    """Every cell by its name."""
    for said in asked:
        assert said.verdict == FINE, said.err
    return {cell["cell"]: cell for said in asked for cell in said.document["cells"]}


def test_every_scenario_is_asked_in_some_test() -> None:
    assert {cell.partition("/")[0] for cell in SEEN} | ELSEWHERE == set(catalog.scenario_files())


def test_a_scenario_names_every_transport_and_era_of_its_servers() -> None:
    for name in catalog.scenario_files():
        scenario = catalog.scenario(name)
        for server in catalog.servers(scenario.servers):
            assert set(server.transports) <= set(scenario.transport), (name, server.name)
            assert set(server.eras) <= set(scenario.era), (name, server.name)


def test_no_recipe_leaves_a_process(asked: tuple[Said, ...]) -> None:
    assert [said.left for said in asked] == [[], []]


def here() -> list[str]:
    """The cells whose servers are made for this kind of machine."""
    return [name for name in SEEN if needs.runs_here(catalog.server(name.split("/")[1]).needs)]


@pytest.mark.parametrize("name", here())
def test_a_recipe_answers_and_is_labelled_by_what_was_seen(
    cells: Mapping[str, Mapping[str, Any]], name: str
) -> None:
    cell = cells[name]
    assert cell["outcomes"]["ok"] == cell["calls"] == 2
    variant = cell["variant"]
    assert (cell["protocol_version"], variant["session"], variant["response"]) == SEEN[name]
    assert cell["wire"]["noise_lines"] == 0
    asks_back = name.startswith("desk/") and name.endswith("/stateful")
    assert (cell["wire"]["server_requests"] > 0) == asks_back

"""The ticket desks on every SDK: the same tools, and the same text for the same question."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

from bench import catalog, jsonrpc
from bench.model import Cell, EraName, Limits, Reply, Step, Turn
from bench.needs import recipes
from bench.prepare import words_of
from bench.process import Environment
from bench.recorder import Recorder
from bench.session import Session, launch
from tests.outside import Program, conversing
from tests.talking import said

DESKS = tuple(catalog.scenario("sdks").servers)
QUESTIONS: tuple[Mapping[str, Any], ...] = (
    {"query": "refund", "status": "open", "limit": 3},
    {"query": "refund"},
    {"query": "Björn", "status": "any"},
    {"query": "umlauts accents", "status": "any", "limit": 40},
    {"query": 'login "AND" (browser*)', "status": "any"},
    {"query": "login browser", "status": "closed", "limit": 0},
    {"query": "login browser", "status": "pending", "limit": -1},
    {"query": "?!", "status": "any"},
    {"query": "no such word"},
)
LETTERS = 1_000
UNKNOWN = {"query": "refund", "status": "opne"}


class Desk(NamedTuple):
    """What one desk has and says."""

    tools: Mapping[str, Mapping[str, Any]]
    answers: tuple[str, ...]
    null: str
    log: str
    refused: Reply


@pytest.fixture(scope="module")
def tickets() -> ModuleType:
    """The module that the desks in Python search with."""
    file = recipes() / "tickets-python" / "tickets.py"
    spec = importlib.util.spec_from_file_location("tickets", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def desks() -> Mapping[str, Desk]:
    """Every desk, asked once over stdio in every era it has."""
    return {
        f"{name} {era}": conversing(partial(_asked, name, era))
        for name in DESKS
        for era in catalog.server(name).eras
    }


async def _asked(name: str, era: EraName) -> Desk:
    server = catalog.server(name)
    cell = Cell(name="cell", scenario="", server=name, transport="stdio", era=era)
    recorder = Recorder(Turn(cell=cell, launch=0, round=0), keep_bodies=True)
    environment = Environment(words=words_of(server), limit_s=20.0)
    limits = Limits(call_s=20.0, setup_s=20.0)
    async with launch(server, cell, recorder, environment, limits) as session:
        await session.open()
        await session.tools()
        page = jsonrpc.result_of((recorder.transcript[-1].body or "").encode())
        listed = {tool["name"]: tool for tool in page["tools"]}
        answers = [said(await _call(session, "search_tickets", each)) for each in QUESTIONS]
        null = said(await _call(session, "null", {}))
        log = said(await _call(session, "read_log", {"letters": LETTERS}))
        refused = await _call(session, "search_tickets", UNKNOWN)
        return Desk(listed, tuple(answers), null, log, refused)


async def _call(session: Session, tool: str, arguments: Mapping[str, Any]) -> Reply:
    return await session.call(session.request(Step(tool=tool, arguments=arguments)))


def test_every_sdk_gives_the_same_text_as_the_database_itself(
    desks: Mapping[str, Desk], tickets: ModuleType
) -> None:
    database = tickets.build()
    expected = tuple(tickets.answer(database, **each) for each in QUESTIONS)
    database.close()
    counts = [len(msgspec.json.decode(text)) for text in expected]
    assert counts == [3, 10, 0, 40, 10, 0, 0, 0, 0]
    assert "Björn" in "".join(expected)
    assert len(desks) == 9
    for name, desk in desks.items():
        assert desk.answers == expected, name
        assert desk.null == "", name
        assert (len(desk.log), desk.log) == (LETTERS, desks["tickets-python stateful"].log), name


def test_every_sdk_offers_the_same_tools(desks: Mapping[str, Desk]) -> None:
    for name, desk in desks.items():
        assert {tool: _shape(each) for tool, each in desk.tools.items()} == {
            "search_tickets": (
                "Find support tickets by words of their title and text, best match first.",
                {"query": "string", "status": "string", "limit": "integer"},
                ["query"],
            ),
            "null": (
                "Answer at once with an empty text: what a call costs when the tool does nothing.",
                {},
                [],
            ),
            "read_log": (
                "Read the log that came with a ticket, up to so many letters.",
                {"letters": "integer"},
                ["letters"],
            ),
        }, name


ONCE = (
    "-r",
    "1",
    "-w",
    "0",
    "--pin",
    "none",
    "--transport",
    "stdio",
    "--era",
    "stateful",
    "--json",
)


def test_every_desk_lists_as_many_tools_as_it_is_asked_for(program: Program) -> None:
    said = program("run", "catalogue", *ONCE, "-n", "2", "--catalogue", "1,3,40")
    cells = said.document["cells"]
    assert [cell["server"] for cell in cells] == [name for name in DESKS for _ in range(3)]
    assert [cell["wire"]["tools"] for cell in cells] == [1, 3, 40] * len(DESKS), said.err
    assert [cell["variant"]["catalogue"] for cell in cells] == ["1", "3", "40"] * len(DESKS)
    assert [cell["outcomes"]["ok"] for cell in cells] == [2] * len(cells)


def test_every_desk_answers_with_as_much_as_it_is_asked_for(program: Program) -> None:
    said = program("run", "payload", *ONCE, "-n", "6")
    messages = said.run.message_table.to_pylist()
    for cell in said.document["cells"]:
        assert [step["step"] for step in cell["steps"]] == [
            *("100 B, after 1 MB", "100 B", "1 kB", "10 kB", "100 kB", "1 MB")
        ], said.err
        assert cell["outcomes"]["ok"] == 6
        heaviest = max(row["bytes"] for row in messages if row["cell"] == cell["cell"])
        assert 1_000_000 < heaviest < 1_100_000


def test_a_status_that_no_ticket_has_is_a_tool_error_that_names_those_known(
    desks: Mapping[str, Desk],
) -> None:
    for name, desk in desks.items():
        assert desk.refused.outcome == "tool_error", name
        text = jsonrpc.result_of(desk.refused.body)["content"][0]["text"]
        assert 'status "opne" is not known; known are: open, pending, closed, any' in text, name


def test_the_file_is_the_same_whenever_it_is_written(
    tickets: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = [tmp_path_factory.mktemp("tickets") / "tickets.db" for _ in range(2)]
    for file in files:
        tickets.build(50, file=str(file)).close()
    first, second = (file.read_bytes() for file in files)
    assert first == second
    read = tickets.opened(files[0])
    assert read.execute("select count(*) from ticket").fetchone() == (50,)
    read.close()


def _shape(tool: Mapping[str, Any]) -> tuple[str | None, Mapping[str, str], list[str]]:
    schema = tool["inputSchema"]
    types = {name: each["type"] for name, each in schema.get("properties", {}).items()}
    return tool["description"], types, schema.get("required", [])

"""The clients side by side: what the official SDK sends, and what a connection per call is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pytest

from bench.clients import CLIENTS
from bench.errors import COULD_NOT, FINE, USAGE
from bench.model import Step
from bench.report import FORMATS
from bench.store import Run
from bench.variants import VARIANTS
from tests.outside import (
    Listening,
    Program,
    Said,
    conversing,
    http_server,
    listening,
    module,
    opened,
    toml,
)

CALLS, WARMUP = 4, 1
MADE = 1 + WARMUP + CALLS
WHERE = [
    f"tickets/tickets-python/{transport}/{era}"
    for transport in ("stdio", "http")
    for era in ("stateful", "stateless")
]
SDKS = ("sdk", "sdk-auto")
PATH_OF_A_CALL = ("sent", "out", "read", "entered", "left", "writing", "in", "received")
CONNECTED_CALL = {  # our own client connects before a call's clock starts, the SDK's after
    "wire": ("connecting", "connected", "sent", "received"),
    "sdk": ("sent", "connecting", "connected", "out", "in", "received"),
}
SLOW_LIST_NS = 200_000_000


class Clients(NamedTuple):
    """One run of the ticket server through every client."""

    said: Said
    cells: Mapping[str, Mapping[str, Any]]
    run: Run

    def rows(self, table: str, cell: str) -> list[dict[str, Any]]:
        """The rows of a cell."""
        found = getattr(self.run, table)
        rows: list[dict[str, Any]] = found.filter(pc.equal(found["cell"], cell)).to_pylist()
        return rows

    def out(self, cell: str) -> list[str]:
        """The methods of what was sent, in order, without the floor."""
        (floor,) = [row["at_floor_sent_ns"] for row in self.rows("launch_table", cell)]
        return [
            row["method"]
            for row in self.rows("message_table", cell)
            if row["direction"] == "out" and row["at_ns"] < floor
        ]


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Clients:
    """The ticket server in both eras over both transports, through the three clients."""
    options = ("--json", "-r", "1", "-n", str(CALLS), "-w", str(WARMUP), "--pin", "none")
    program = Program(tmp_path_factory.mktemp("clients"))
    said = program("run", "tickets", "--client", ",".join(CLIENTS), *options)
    assert said.verdict == FINE, said.err
    assert said.left == []
    return Clients(said, {cell["cell"]: cell for cell in said.document["cells"]}, said.run)


def test_every_client_that_can_be_asked_for_is_there() -> None:
    assert tuple(CLIENTS) == VARIANTS["client"].values


@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize("where", WHERE)
def test_the_same_calls_go_well_through_every_client(
    tickets: Clients, where: str, client: str
) -> None:
    cell = tickets.cells[f"{where}/client={client}"]
    assert cell["outcomes"]["ok"] == cell["calls"] == CALLS
    assert cell["variant"]["client"] == client
    assert cell["work_source"] == "probe"


@pytest.mark.parametrize("where", WHERE)
def test_our_own_client_asks_once_a_call(tickets: Clients, where: str) -> None:
    wire = tickets.cells[f"{where}/client=wire"]["wire"]
    assert (wire["requests_per_call"], wire["first_call_requests"]) == (1.0, 1)
    assert wire["hidden_ns"] == {}
    assert wire["connections_opened"] == 1


@pytest.mark.parametrize("client", SDKS)
@pytest.mark.parametrize("where", WHERE)
def test_the_sdk_asks_for_the_list_behind_its_first_call_only(
    tickets: Clients, where: str, client: str
) -> None:
    name = f"{where}/client={client}"
    calls = [row for row in tickets.rows("call_table", name) if row["phase"] != "floor"]
    assert [row["wire_requests"] for row in calls] == [2] + [1] * (MADE - 1)
    asked = ["tools/call", "tools/list"] + ["tools/call"] * (MADE - 1)
    assert tickets.out(name)[-len(asked) :] == asked
    cell = tickets.cells[name]
    assert any("hidden tools/list" in sentence for sentence in cell["findings"])
    assert list(cell["wire"]["hidden_ns"]) == ["tools/list"]


@pytest.mark.parametrize(
    ("client", "where", "opening"),
    [
        *(("sdk", where, ["initialize", "notifications/initialized"]) for where in WHERE[::2]),
        *(("sdk", where, []) for where in WHERE[1::2]),
        *(("sdk-auto", where, ["server/discover"]) for where in WHERE),
    ],
)
def test_the_sdk_opens_as_it_pleases(
    tickets: Clients, client: str, where: str, opening: list[str]
) -> None:
    assert tickets.out(f"{where}/client={client}")[: -MADE - 1] == opening


@pytest.mark.parametrize("where", WHERE)
def test_the_era_of_the_sdk_is_that_on_the_wire_and_another_than_asked_is_said(
    tickets: Clients, where: str
) -> None:
    pinned, auto = (tickets.cells[f"{where}/client={client}"] for client in SDKS)
    assert pinned["era"] == where.rpartition("/")[2]
    assert (auto["era"], auto["protocol_version"]) == ("stateless", "2026-07-28")
    told = any("settled on 2026-07-28 by itself" in each for each in auto["warnings"])
    assert told == where.endswith("stateful")


@pytest.mark.parametrize("client", SDKS)
@pytest.mark.parametrize("where", WHERE)
def test_the_servers_stamps_belong_to_the_request_that_the_sdk_numbered(
    tickets: Clients, where: str, client: str
) -> None:
    name = f"{where}/client={client}"
    sent = [
        row["id"] for row in tickets.rows("message_table", name) if row["method"] == "tools/call"
    ]
    rows = tickets.rows("call_table", name)
    assert [str(row["request_id"]) for row in rows] == sent
    for row in (row for row in rows if row["phase"] != "floor"):
        path = [row[f"{point}_ns"] for point in PATH_OF_A_CALL]
        assert None not in path
        assert path == sorted(path)
        assert row["request_bytes"] > 0 < row["response_bytes"]


@pytest.mark.parametrize("client", SDKS)
def test_what_the_client_adds_is_compared_along_its_axis(tickets: Clients, client: str) -> None:
    pairs = [
        each
        for each in tickets.said.document["comparisons"]
        if each["axis"] == "client" and each["values"] == ["wire", client]
    ]
    assert len(pairs) == len(WHERE) * 2
    assert {each["segment"] for each in pairs} == {"first_result", "call"}
    assert {each["cheaper"] for each in pairs} == {None}


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_report_shows_the_clients_side_by_side(tickets: Clients, form: str) -> None:
    text = FORMATS[form](tickets.said.document)
    assert "What the client adds, and what it really sends" in text
    for word in ("more than wire", "requests/call", "connections"):
        assert word in text


def test_a_slow_list_is_found_behind_the_first_call_and_not_taken_for_the_server(
    program: Program,
) -> None:
    said = program.run("slow_list", options=["--client", "wire,sdk"])
    assert said.verdict == FINE, said.err
    wire, sdk = said.document["cells"]
    assert (wire["wire"]["first_call_requests"], sdk["wire"]["first_call_requests"]) == (1, 2)
    assert (wire["wire"]["hidden_ns"], len(wire["findings"])) == ({}, 0)
    assert sdk["wire"]["hidden_ns"]["tools/list"] >= SLOW_LIST_NS
    assert sdk["segments"]["first_call"]["p50_ns"] >= SLOW_LIST_NS
    assert wire["segments"]["tools_list"]["p50_ns"] >= SLOW_LIST_NS
    assert any(each.startswith("hidden tools/list: ") for each in sdk["findings"])
    for row in said.run.call_table.to_pylist():
        if row["cell"] == sdk["cell"]:
            waited = row["received_ns"] - row["in_ns"] >= SLOW_LIST_NS
            assert waited == (row["wire_requests"] == 2) == (row["phase"] == "first")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_of_the_older_era_shows_what_asking_for_the_newer_one_costs(
    program: Program, transport: str
) -> None:
    few = ("-r", "1", "-n", "2", "-w", "0", "--json", "--pin", "none", "--transport", transport)
    said = program("run", "everything", "--client", "sdk-auto", *few)
    assert said.verdict == FINE, said.err
    assert (said.cell["era"], said.cell["warnings"]) == ("stateful", [])
    found = said.cell["segments"]
    (launch,) = said.run.launch_table.to_pylist()
    assert launch["at_discover_received_ns"] <= launch["at_initialize_sent_ns"]
    assert {"discover", "initialize"} <= set(found)
    assert found["client"]["min_ns"] >= 0


def _run_beside(server: Listening, program: Program, *words: str) -> tuple[Said, int]:
    """One launch of 20 calls at a server that runs already, and the connections it saw."""
    program.recipe("running", http=f'{{url = "{server.base}/mcp"}}')
    program.scenario("beside", 'servers = ["running"]\n[[call]]\ntool = "echo"\n')
    before = server.seen()["connections"]
    few = ("--era", "stateful", "-r", "1", "-n", "20", "-w", "0", "--json", "--pin", "none")
    said = program("run", "beside", *few, *words)
    assert said.verdict == FINE, said.err
    assert said.cell["outcomes"]["ok"] == 20
    return said, server.seen()["connections"] - before


def test_a_reply_before_the_end_of_its_stream_costs_whichever_client_connections_as_counted(
    program: Program,
) -> None:
    with listening("http_late_end") as server:
        wire, seen = _run_beside(server, program)
        assert wire.cell["wire"]["connections_opened"] == seen == 1
        sdk, seen = _run_beside(server, program, "--client", "sdk")
    opened = sdk.cell["wire"]["connections_opened"]
    assert opened == seen
    told = any("connections are not reused" in each for each in sdk.cell["findings"])
    assert told == (opened > 21 / 2)


@pytest.mark.parametrize("client", ["wire", "sdk"])
def test_a_connection_per_call_is_made_before_each_and_has_its_own_time(
    program: Program, client: str
) -> None:
    with listening("trivial_http") as server:
        words = ("--connection", "per-call", "--client", client)
        said, seen = _run_beside(server, program, *words)
    assert said.cell["wire"]["connections_opened"] == seen >= 21
    assert said.cell["variant"]["connection"] == "per-call"
    assert said.cell["wire"]["reconnects"] == 0
    assert not any("not reused" in each for each in said.cell["findings"])
    assert said.cell["segments"]["call_connect"]["p50_ns"] > 0
    for row in said.run.call_table.to_pylist():
        path = [row[f"{point}_ns"] for point in CONNECTED_CALL[client]]
        assert None not in path
        assert path == sorted(path)


def test_a_connection_that_is_kept_has_no_connecting_in_its_calls(program: Program) -> None:
    with listening("trivial_http") as server:
        said, seen = _run_beside(server, program, "--connection", "keep-alive")
    assert said.cell["wire"]["connections_opened"] == seen == 1
    assert said.cell["variant"]["connection"] == "keep-alive"
    assert "call_connect" not in said.cell["segments"]


def test_the_axis_of_connections_gives_two_cells_over_http_and_one_over_a_pipe(
    program: Program,
) -> None:
    command = toml(module("trivial_http", "{port}"))
    where = f'{{command = {command}, url = "http://127.0.0.1:{{port}}/mcp"}}'
    program.recipe("both", stdio=toml(module("trivial")), http=where)
    program.scenario("two", 'servers = ["both"]\n[[call]]\ntool = "echo"\n')
    few = ("--era", "stateless", "-r", "1", "-n", "3", "-w", "0", "--json", "--pin", "none")
    said = program("run", "two", *few, "--connection", "keep-alive,per-call")
    assert said.verdict == FINE, said.err
    found = {cell["cell"]: cell["variant"]["connection"] for cell in said.document["cells"]}
    assert found == {
        "two/both/stdio/stateless": "keep-alive",
        "two/both/http/stateless/connection=keep-alive": "keep-alive",
        "two/both/http/stateless/connection=per-call": "per-call",
    }


def test_a_connection_that_the_server_closed_is_made_anew_before_the_call_and_counted() -> None:
    async def main(server: Listening) -> None:
        async with opened(http_server(f"{server.base}/mcp")) as (session, recorder):
            await session.open()
            for number in range(1, 5):
                reply = await session.call(session.request(Step(tool="echo")))
                assert reply.outcome == "ok", reply.why
                assert (reply.connecting_ns is None) == (number == 1)
                if reply.connecting_ns is not None and reply.connected_ns is not None:
                    assert reply.connecting_ns <= reply.connected_ns <= reply.sent_ns
                while server.seen()["hung_up"] < number:  # the loop stands still meanwhile
                    continue
        assert recorder.counts["reconnects"] == 3

    with listening("http_hangs_up") as server:
        conversing(lambda: main(server))


def test_without_the_sdk_its_client_is_refused_with_what_to_install(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('no mcp here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = program.run("trivial", options=["--client", "wire,sdk"])
    assert said.verdict == COULD_NOT
    assert "no mcp here; try: pip install 'mcp-latency[sdk]'" in said.err
    wire, sdk = said.document["cells"]
    assert (wire["outcomes"]["ok"], sdk["calls"]) == (wire["calls"], 0)


def test_a_server_that_leaves_is_told_with_its_last_words_through_the_sdk_too(
    program: Program,
) -> None:
    said = program.run("exits_early", options=["--client", "sdk"])
    assert said.verdict == COULD_NOT
    assert said.left == []
    assert "it left with status 7" in said.err
    assert "ModuleNotFoundError: No module named 'tickets'" in said.err


def test_a_call_without_a_reply_times_out_through_the_sdk_too(program: Program) -> None:
    said = program.run("silent", "tools/call", options=["--client", "sdk", "--timeout", "0.1"])
    assert said.cell["outcomes"]["timeout"] == said.cell["calls"] == 6


@pytest.mark.parametrize(
    ("option", "word", "offered"),
    [("--client", "sdk-aut", '"sdk-auto"'), ("--connection", "percall", '"per-call"')],
)
def test_a_client_or_connection_that_is_not_known_is_wrong_usage(
    program: Program, option: str, word: str, offered: str
) -> None:
    said = program("run", "tickets", option, word)
    assert said.verdict == USAGE
    assert f"did you mean {offered}?" in said.err

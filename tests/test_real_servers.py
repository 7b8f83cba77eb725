"""Real servers, transport by era, from the recipes: facts only, never durations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pytest

from bench.errors import FINE
from bench.store import Run
from tests.outside import Program, Said

CALLS, WARMUP = 4, 1
FEW = ("--json", "-n", str(CALLS), "-w", str(WARMUP), "--pin", "none")
HANDSHAKE = ["initialize", None, "notifications/initialized", "tools/list", None]
STATELESS = ["server/discover", None, "tools/list", None]
NEWEST = {"stateful": "2025-11-25", "stateless": "2026-07-28"}

STDIO_CELLS = (
    "tickets/tickets-python/stdio/stateful",
    "tickets/tickets-python/stdio/stateless",
    "everything/everything/stdio/stateful",
    "time/time/stdio/stateful",
    "time/time/stdio/stateless",
)
HTTP_CELLS = (
    "tickets/tickets-python/http/stateful",
    "tickets/tickets-python/http/stateless",
    "everything/everything/http/stateful",
)
ASKED = "tickets/tickets-python/http"
VARIANTS: Mapping[str, tuple[str, str]] = {
    f"{ASKED}/stateful/session=kept/response=json": ("kept", "json"),
    f"{ASKED}/stateful/session=kept/response=sse": ("kept", "sse"),
    f"{ASKED}/stateful/session=none/response=json": ("none", "json"),
    f"{ASKED}/stateful/session=none/response=sse": ("none", "sse"),
    # This SDK answers the stateless era with JSON, whatever it was asked for: labels do not lie.
    f"{ASKED}/stateless/response=json": ("none", "json"),
    f"{ASKED}/stateless/response=sse": ("none", "json"),
}


class Matrix(NamedTuple):
    """Every cell of a run by its name, and what was stored of it."""

    said: Said
    cells: Mapping[str, Mapping[str, Any]]
    run: Run


def _matrix(tmp_path_factory: pytest.TempPathFactory, *words: str) -> Matrix:
    said = Program(tmp_path_factory.mktemp("real"))("run", *words, *FEW)
    assert said.verdict == FINE, said.err
    return Matrix(said, {cell["cell"]: cell for cell in said.document["cells"]}, said.run)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """Every recipe on every transport in every era it has."""
    return _matrix(tmp_path_factory, "tickets", "everything", "time", "-r", "2")


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """The ticket server in every form of response, with a session and without."""
    options = ("--transport", "http", "--response", "json,sse", "--session", "kept,none")
    return _matrix(tmp_path_factory, "tickets", "-r", "1", *options)


def _rows(run: Run, table: str, cell: str) -> list[dict[str, Any]]:
    found = getattr(run, table)
    rows: list[dict[str, Any]] = found.filter(pc.equal(found["cell"], cell)).to_pylist()
    return rows


def _launches(run: Run, cell: str) -> list[list[dict[str, Any]]]:
    """The messages of each launch, in order, without what the server only let us know."""
    launches: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(run, "message_table", cell):
        if (row["direction"], row["kind"]) != ("in", "notification"):
            launches.setdefault(row["launch"], []).append(row)
    return list(launches.values())


def test_the_matrix_has_every_cell_and_leaves_no_process(matrix: Matrix, varied: Matrix) -> None:
    assert set(matrix.cells) == {*STDIO_CELLS, *HTTP_CELLS}
    assert set(varied.cells) == set(VARIANTS)
    assert matrix.said.left == varied.said.left == []


@pytest.mark.parametrize("name", [*STDIO_CELLS, *HTTP_CELLS])
def test_every_call_is_ok_and_is_one_request_on_the_wire(matrix: Matrix, name: str) -> None:
    cell = matrix.cells[name]
    assert cell["outcomes"]["ok"] == cell["calls"] == 2 * CALLS
    assert cell["wire"]["requests_per_call"] == 1.0
    assert cell["wire"]["setup_requests"] == 2
    assert cell["wire"]["noise_lines"] == cell["wire"]["server_requests"] == 0
    phases = [row["phase"] for row in _rows(matrix.run, "call_table", name)]
    assert [phases.count(each) for each in ("first", "warmup", "steady")] == [2, 2, 2 * CALLS]


@pytest.mark.parametrize("name", [*STDIO_CELLS, *HTTP_CELLS])
def test_a_session_begins_with_the_messages_of_its_era_and_each_request_has_its_reply(
    matrix: Matrix, name: str
) -> None:
    opening = HANDSHAKE if name.endswith("stateful") else STATELESS
    for messages in _launches(matrix.run, name):
        first = next(at for at, row in enumerate(messages) if row["method"] == "tools/call")
        assert [row["method"] for row in messages[:first]] == opening
        assert messages[first + 1]["id"] == messages[first]["id"]
        assert first + 2 == (7 if opening is HANDSHAKE else 6)
        assert len(messages) % 2 == len(opening) % 2
        asked = [row["id"] for row in messages if row["kind"] == "request"]
        answered = [row["id"] for row in messages if row["kind"] == "response"]
        assert len(set(asked)) == len(asked)
        assert answered == asked


def test_the_classic_session_over_stdio_is_five_messages_and_then_seven(matrix: Matrix) -> None:
    for name in ("tickets/tickets-python/stdio/stateful", "time/time/stdio/stateful"):
        assert matrix.cells[name]["wire"]["setup_messages"] == 5
    told = matrix.cells["everything/everything/stdio/stateful"]["wire"]
    assert told["setup_messages"] == 5 + told["notifications"]


@pytest.mark.parametrize("name", [*STDIO_CELLS, *HTTP_CELLS])
def test_labels_come_from_the_wire(matrix: Matrix, name: str) -> None:
    cell = matrix.cells[name]
    _, _, transport, era = name.split("/")
    assert (cell["transport"], cell["era"]) == (transport, era)
    assert cell["protocol_version"] == NEWEST[era]
    forms = {"stdio": "line", "http": "json" if era == "stateless" else "sse"}
    assert cell["variant"]["response"] == forms[transport]
    assert cell["variant"]["session"] == ("kept" if era == "stateful" else "none")


@pytest.mark.parametrize("name", [*STDIO_CELLS, *HTTP_CELLS])
def test_stamps_of_a_call_stand_in_the_order_of_their_causes(matrix: Matrix, name: str) -> None:
    points = ("sent", "read", "entered", "left", "writing", "first_byte", "received", "decoded")
    for row in _rows(matrix.run, "call_table", name):
        stamps = [row[f"{point}_ns"] for point in points if row[f"{point}_ns"] is not None]
        assert len(stamps) >= 4
        ours = [row[f"{point}_ns"] for point in ("sent", "first_byte", "received", "decoded")]
        assert ours == sorted(ours)
        inside = [stamp for stamp in stamps if stamp not in ours]
        assert inside == sorted(inside)
        assert all(row["sent_ns"] < stamp < row["received_ns"] for stamp in inside)
        assert row["sent_ns"] < row["written_ns"]


@pytest.mark.parametrize("name", HTTP_CELLS)
def test_a_launch_over_http_is_one_connection(matrix: Matrix, name: str) -> None:
    assert matrix.cells[name]["wire"]["connections_opened"] == 1
    ports = {(row["launch"], row["local_port"]) for row in _rows(matrix.run, "call_table", name)}
    assert len(ports) == len({launch for launch, _ in ports}) == 2


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_seen_on_the_wire(varied: Matrix, name: str) -> None:
    cell = varied.cells[name]
    session, response = VARIANTS[name]
    assert cell["outcomes"]["ok"] == cell["calls"] == CALLS
    assert (cell["variant"]["session"], cell["variant"]["response"]) == (session, response)
    assert cell["wire"]["teardown_requests"] == (session == "kept")
    assert cell["wire"]["connections_opened"] == 1


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_older_versions_are_agreed_where_they_are_asked_for(program: Program, version: str) -> None:
    options = ("--json", "-r", "1", "-n", "1", "-w", "0", "--pin", "none")
    said = program("run", "tickets", "--protocol", version, *options)
    assert said.verdict == FINE, said.err
    assert said.left == []
    for cell in said.document["cells"]:
        assert (cell["era"], cell["protocol_version"]) == ("stateful", version)
        assert cell["outcomes"]["ok"] == cell["calls"] == 1

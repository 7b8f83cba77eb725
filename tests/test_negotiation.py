"""Versions proposed, accepted and declined, eras found out, capabilities: on real servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.era import stateful
from bench.errors import COULD_NOT, FINE, USAGE
from tests.outside import Program, Said, listening, module, toml

NEWEST = stateful.NEWEST
META = "io.modelcontextprotocol/"


def _trace(program: Program, server: str, *options: str, words: tuple[str, ...] = ()) -> Said:
    return program("trace", "--json", "--tool", "echo", *options, "--", *module(server, *words))


def _bodies(said: Said, direction: str = "out") -> list[dict[str, Any]]:
    """The messages of one direction, as they were on the wire."""
    found = [m for m in said.document["messages"] if m["direction"] == direction]
    return [json.loads(m["body"]) for m in found if m["kind"] != "noise"]


def _methods(said: Said) -> list[str]:
    return [body.get("method", "") for body in _bodies(said)]


def _text(said: Said) -> str:
    return "\n".join(said.document["findings"])


@pytest.mark.parametrize("version", stateful.VERSIONS)
def test_each_handshake_version_can_be_proposed_and_is_agreed_on(
    program: Program, version: str
) -> None:
    said = _trace(program, "trivial", "--protocol", version)
    assert said.code == FINE, said.err
    assert _bodies(said)[0]["params"]["protocolVersion"] == version
    assert (
        f"Era: stateful (a handshake); version {version}; session kept; server trivial 1."
        in _text(said)
    )
    assert said.document["facts"]["protocol_requested"] == version


def test_an_older_offer_that_we_know_is_accepted_and_both_versions_are_said(
    program: Program,
) -> None:
    said = _trace(program, "offers_version", "--era", "stateful", words=("2024-11-05",))
    assert said.code == FINE
    assert "notifications/initialized" in _methods(said)
    assert f"asked for {NEWEST}, offered 2024-11-05" in _text(said)


def test_an_offer_that_we_do_not_know_is_declined_and_the_trace_says_so(program: Program) -> None:
    said = _trace(program, "offers_version", "--era", "stateful", words=("2099-01-01",))
    assert said.code == COULD_NOT
    assert _methods(said) == ["initialize"]
    assert "Last step: the server's response to initialize. Due next: " in _text(said)
    assert "the client read the version the server offered and declined it" in _text(said)
    assert "2 in its steps, even: there is no notifications/initialized" in _text(said)
    assert "initialized was not sent" in said.document["error"]


def test_a_server_that_agrees_to_a_version_there_is_not_is_flagged(program: Program) -> None:
    probe = ("--era", "stateful", "--protocol", "1900-01-01")
    echo = _trace(program, "echoes_version", *probe)
    assert echo.code == COULD_NOT
    assert _methods(echo) == ["initialize"]
    assert "it repeats what it is asked for" in echo.document["error"]
    honest = _trace(program, "trivial", *probe)
    assert honest.code == FINE
    assert f"asked for 1900-01-01, offered {NEWEST}" in _text(honest)


def test_an_unknown_version_needs_the_era_it_is_proposed_in(program: Program) -> None:
    said = program("run", "--protocol", "2099-01-01", "--", *module("trivial"))
    assert said.code == USAGE
    assert '"2099-01-01" is not known' in said.err


@pytest.mark.parametrize("where", ["pipe", "http", "idless"])
def test_a_refusal_that_lists_versions_is_followed_by_one_retry(
    program: Program, where: str
) -> None:
    options = ("--era", "stateful")
    if where == "pipe":
        said = _trace(program, "lists_versions", *options)
    else:
        words = ("lists_versions", "400", *(["idless"] if where == "idless" else []))
        with listening("http_of", *words) as server:
            url = f"{server.base}/mcp"
            said = program("trace", "--json", "--tool", "echo", *options, "--url", url)
    assert said.code == FINE, said.document["error"]
    proposed = [
        b["params"]["protocolVersion"] for b in _bodies(said) if b["method"] == "initialize"
    ]
    assert proposed == [NEWEST, "2025-03-26"]
    assert f"Version {NEWEST} was refused; 2025-03-26, which the refusal lists" in _text(said)
    assert "Protocol error -32022 to initialize" in _text(said)
    assert said.document["facts"]["version_retries"] == 1
    assert said.document["facts"]["protocol_version"] == "2025-03-26"


@pytest.mark.parametrize("opening", ["known", "direct"])
@pytest.mark.parametrize("where", ["pipe", "http"])
def test_a_stateless_version_that_is_refused_is_tried_again_once(
    program: Program, opening: str, where: str
) -> None:
    options = ("--era", "stateless", "--protocol", "2027-01-01", "--opening", opening)
    if where == "pipe":
        said = _trace(program, "lists_versions", *options)
    else:
        with listening("http_of", "lists_versions", "400") as server:
            url = f"{server.base}/mcp"
            said = program("trace", "--json", "--tool", "echo", *options, "--url", url)
    assert said.code == FINE, said.document["error"]
    sent = [(b["method"], b["params"]["_meta"][f"{META}protocolVersion"]) for b in _bodies(said)]
    first = "server/discover" if opening == "known" else "tools/list"
    assert sent[:2] == [(first, "2027-01-01"), (first, "2026-07-28")]
    assert {version for _, version in sent[1:]} == {"2026-07-28"}
    assert said.document["facts"]["protocol_requested"] == "2027-01-01"
    assert said.document["facts"]["protocol_version"] == "2026-07-28"


def test_an_ordinary_request_can_come_first_and_nothing_is_discovered(program: Program) -> None:
    said = _trace(program, "trivial", "--era", "stateless", "--opening", "direct")
    assert said.code == FINE
    assert _methods(said) == ["tools/list", "tools/call"]
    assert "4 in its steps, even, as a session without a handshake must be" in _text(said)


def test_an_opening_that_an_era_does_not_have_is_wrong_usage(program: Program) -> None:
    said = _trace(program, "trivial", "--era", "stateful", "--opening", "direct")
    assert said.code == USAGE
    assert "--opening direct means nothing in the era stateful" in said.err
    free = _trace(program, "trivial", "--opening", "direct")
    assert "Era: stateless (no handshake)" in _text(free)


def test_a_handshake_server_that_answers_a_stateless_request_is_not_taken_for_one(
    program: Program,
) -> None:
    said = _trace(program, "handshake_only", "--era", "stateless", "--opening", "direct")
    assert said.code == COULD_NOT
    assert "without a resultType: it is of the handshake era" in said.document["error"]


@pytest.mark.parametrize(
    ("words", "told"), [((), "was answered with error -32601"), (("quiet",), "was not answered")]
)
def test_a_client_of_both_eras_finds_out_and_the_trace_says_what_it_cost(
    program: Program, words: tuple[str, ...], told: str
) -> None:
    options = ("--opening", "find", "--setup-timeout", "2")
    said = _trace(program, "handshake_only", *options, words=words)
    assert said.code == FINE, said.document["error"]
    assert _methods(said)[:3] == ["server/discover", "initialize", "notifications/initialized"]
    assert f"The client speaks both eras: server/discover {told}" in _text(said)
    assert "finding that out took " in _text(said)
    assert "a line is missing" not in _text(said)
    assert "Unanswered" not in _text(said)


def test_a_server_that_dies_of_the_other_eras_question_is_told_with_a_way_out(
    program: Program,
) -> None:
    said = _trace(program, "handshake_only", "--opening", "find", words=("mortal",))
    assert said.code == COULD_NOT
    assert "did not answer server/discover" in said.document["error"]
    assert "it left with status 9" in said.document["error"]
    assert "try: --opening known" in said.document["error"]


def test_a_client_of_both_eras_stays_with_the_new_one_where_it_is_spoken(program: Program) -> None:
    said = _trace(program, "trivial", "--opening", "find")
    assert _methods(said) == ["server/discover", "tools/list", "tools/call"]
    assert said.document["facts"]["protocol_version"] == "2026-07-28"


@pytest.mark.parametrize(
    ("more", "found_by", "told"),
    [
        ((), "error -32601", "was answered with error -32601"),
        (("idless",), "error -32601", "was answered with error -32601"),
        (("plain",), "HTTP 400", "was refused with HTTP 400"),
    ],
)
def test_a_client_of_both_eras_finds_out_over_http_by_a_400(
    program: Program, more: tuple[str, ...], found_by: str, told: str
) -> None:
    with listening("http_of", "handshake_only", "400", *more) as server:
        url = f"{server.base}/mcp"
        said = program("trace", "--json", "--tool", "echo", "--opening", "find", "--url", url)
    assert said.code == FINE, said.document["error"]
    assert said.document["facts"]["found_by"] == found_by
    assert f"server/discover {told}, so it began a handshake" in _text(said)
    assert "a line is missing" not in _text(said)
    assert "Unanswered" not in _text(said)
    assert said.document["facts"]["protocol_version"] == NEWEST


def test_what_finding_out_costs_is_a_segment_of_the_setup(program: Program) -> None:
    with listening("http_of", "handshake_only", "400") as server:
        url = f"{server.base}/mcp"
        words = ("--era", "stateful", "--opening", "find,known", "--tool", "echo", "--probe", "off")
        said = program("run", "--json", "--url", url, "-r", "2", "-n", "3", *words)
    cells = {cell["variant"]["opening"]: cell for cell in said.document["cells"]}
    assert {"discover", "initialize"} <= cells["find"]["segments"].keys()
    assert "discover" not in cells["known"]["segments"]
    assert cells["find"]["wire"]["setup_messages"] == cells["known"]["wire"]["setup_messages"] + 2
    assert any("tried server/discover first" in each for each in cells["find"]["findings"])
    assert not any("negative" in each for each in cells["find"]["warnings"])


def test_a_silent_server_costs_the_time_it_was_waited_for(program: Program) -> None:
    program.recipe("old", stdio=toml(module("handshake_only", "quiet")), eras='["stateful"]')
    program.scenario("s", 'servers = ["old"]\nopening = ["find"]\n[[call]]\ntool = "echo"\n')
    said = program("run", "s", "--json", "-r", "1", "-n", "2", "--setup-timeout", "1.5")
    assert said.cell["segments"]["first_reply"]["p50_ns"] >= 500_000_000
    assert "initialize" in said.cell["segments"]
    assert any("by silence" in each for each in said.cell["findings"])


@pytest.mark.parametrize("era", ["stateful", "stateless"])
def test_a_direct_opening_adds_up_on_a_pipe_and_requested_and_agreed_are_facts(
    program: Program, era: str
) -> None:
    program.recipe("both", stdio=toml(module("trivial")))
    program.scenario("s", 'servers = ["both"]\nopening = ["direct"]\n[[call]]\ntool = "echo"\n')
    said = program("run", "s", "--json", "-r", "2", "-n", "3", "--era", era)
    cell = said.cell
    assert cell["protocol_requested"] == cell["protocol_version"]
    opened = "direct" if era == "stateless" else "known"
    assert cell["variant"]["opening"] == opened
    parts = cell["ledger"]["setup"]
    assert sum(v for part, v in parts.items() if part != "setup") == parts["setup"]
    assert ("tools_list" in cell["segments"]) == (era == "stateful")
    assert all(part_ns >= 0 for part_ns in parts.values())


def test_a_probe_sees_the_start_also_where_nothing_is_asked_before_the_tools(
    program: Program,
) -> None:
    words = ("--transport", "stdio", "--era", "stateless", "--opening", "direct")
    said = program("run", "tickets", *words, "-r", "1", "-n", "2", "-w", "0", "--json")
    parts = said.cell["ledger"]["setup"]
    assert {"interpreter", "imports", "serving", "tools_list"} <= parts.keys()
    assert "first_reply" not in parts
    assert sum(v for part, v in parts.items() if part != "setup") == parts["setup"]
    assert all(part_ns >= 0 for part_ns in parts.values())


@pytest.mark.parametrize("era", ["stateful", "stateless"])
def test_a_server_that_announces_no_tools_is_not_asked_for_them(program: Program, era: str) -> None:
    said = _trace(program, "announces_none", "--era", era)
    assert said.code == FINE
    assert "tools/list" not in _methods(said)
    assert "The server announces no tools (it announces logging)" in _text(said)
    assert "that is not to say none" in _text(said)


def test_calls_to_tools_that_were_not_announced_are_wrong_usage_with_words(
    program: Program,
) -> None:
    said = program.run("announces_none")
    assert said.code == USAGE
    assert 'announces no tools, so "echo" cannot be called and tools/list was not asked' in said.err
    own = program("run", "--", *module("announces_none"))
    assert own.code == USAGE
    assert "announces no tools" in own.err


@pytest.mark.parametrize("era", ["stateful", "stateless"])
def test_capabilities_are_declared_as_the_scenario_says(program: Program, era: str) -> None:
    program.recipe("s", stdio=toml(module("trivial")))
    declared = "[capabilities]\nroots = {listChanged = true}\nsampling = {}\n"
    program.scenario("s", f'servers = ["s"]\n[[call]]\ntool = "echo"\n{declared}')
    measured = program("run", "s", "--json", "--era", era, "-r", "1", "-n", "1")
    for words in (("s", "--era", era), (measured.document["path"],)):
        first = _bodies(program("trace", *words, "--json"))[0]["params"]
        meta = first.get("_meta", {}).get(f"{META}clientCapabilities")
        told = first["capabilities"] if era == "stateful" else meta
        assert told == {"roots": {"listChanged": True}, "sampling": {}}


def test_a_capability_that_no_client_has_is_wrong_usage(program: Program) -> None:
    program.recipe("s", stdio=toml(module("trivial")))
    program.scenario(
        "s", 'servers = ["s"]\n[[call]]\ntool = "echo"\n[capabilities]\nsamplign = {}\n'
    )
    said = program("run", "s")
    assert said.code == USAGE
    assert 's.toml:5: no client capability "samplign"; did you mean "sampling"?' in said.err

"""What each era says, byte for byte, without a wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.era import ERAS, era_of_version, stateful, stateless
from bench.era.stateless import Stateless, header_value
from bench.errors import SetupError
from bench.model import Tool


def _reply(result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


@pytest.mark.parametrize("version", stateful.VERSIONS)
def test_each_handshake_version_is_proposed_and_agreed(version: str) -> None:
    era = stateful.Stateful(version)
    opening = json.loads(era.opening(1).body)
    assert opening["method"] == "initialize"
    assert opening["params"]["protocolVersion"] == version
    assert opening["params"]["capabilities"] == {}
    assert era.agree(_reply({"protocolVersion": version})).protocol_version == version


@pytest.mark.parametrize(
    ("version", "sent"),
    [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)],
)
def test_the_version_header_is_sent_from_2025_06_18_on(version: str, sent: bool) -> None:
    era = stateful.Stateful()
    era.agree(_reply({"protocolVersion": version}))
    headers = dict(era.request(2, "tools/list", {}).headers)
    assert headers == ({"MCP-Protocol-Version": version} if sent else {})


def test_an_older_offer_is_accepted_and_an_unknown_one_is_declined_with_both_versions() -> None:
    assert stateful.Stateful().agree(_reply({"protocolVersion": "2024-11-05"}))
    with pytest.raises(SetupError, match=r"2025-11-25.*'2099-01-01'.*initialized was not sent"):
        stateful.Stateful().agree(_reply({"protocolVersion": "2099-01-01"}))


def test_initialized_has_no_id() -> None:
    confirmation = stateful.Stateful().confirmation()
    assert confirmation is not None
    assert json.loads(confirmation.body) == {
        "jsonrpc": "2.0",
        "method": "notifications/initialized",
    }


def test_a_stateless_request_carries_its_context_and_its_headers_say_the_same() -> None:
    out = Stateless().request(7, "tools/call", {"name": "search", "arguments": {"q": "x"}})
    message = json.loads(out.body)
    meta = message["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert dict(out.headers) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "search",
    }


def test_marked_arguments_are_mirrored_into_headers_also_nested_ones() -> None:
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
            "plain": {"type": "string"},
            "absent": {"type": "string", "x-mcp-header": "Absent"},
        }
    }
    era = Stateless()
    era.learn([Tool(name="größe", inputSchema=schema)])
    arguments = {"region": " eu", "where": {"zone": 3}, "plain": "x", "absent": None}
    headers = dict(era.request(1, "tools/call", {"name": "größe", "arguments": arguments}).headers)
    assert headers["Mcp-Name"] == "=?base64?Z3LDtsOfZQ==?="
    assert headers["Mcp-Param-Region"] == "=?base64?IGV1?="
    assert headers["Mcp-Param-Zone"] == "3"
    assert "Mcp-Param-Absent" not in headers


@pytest.mark.parametrize(
    "header", ["", "two words", "a\r\nX-Injected: 1", "größe", "a:b", "x" * 200]
)
def test_a_header_name_that_is_none_is_never_sent(header: str) -> None:
    era = Stateless()
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": header}}}
    era.learn([Tool(name="search", inputSchema=schema)])
    sent = era.request(1, "tools/call", {"name": "search", "arguments": {"region": "eu"}}).headers
    assert {name for name, _ in sent} == {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}


@given(st.text())
def test_a_header_value_is_always_printable_ascii_and_can_be_read_back(text: str) -> None:
    import base64

    text = text.encode("utf-8", "ignore").decode()
    value = header_value(text)
    assert all(" " <= letter <= "~" for letter in value)
    assert value == value.strip(" ")
    if value.startswith("=?base64?"):
        assert base64.b64decode(value[9:-2]).decode() == text
    else:
        assert value == text


def test_a_server_without_our_version_is_refused_with_what_it_offers() -> None:
    with pytest.raises(SetupError, match=r"does not offer 2026-07-28.*2027-01-01"):
        Stateless().agree(_reply({"supportedVersions": ["2027-01-01"], "resultType": "complete"}))
    error = json.dumps({"id": 1, "error": {"code": -32601, "message": "Method not found"}})
    with pytest.raises(SetupError, match=r"does not speak 2026-07-28.*-32601"):
        Stateless().agree(error.encode())


def test_every_version_belongs_to_one_era() -> None:
    assert set(ERAS) == {"stateful", "stateless"}
    assert {era_of_version(version) for version in stateful.VERSIONS} == {"stateful"}
    assert {era_of_version(version) for version in stateless.VERSIONS} == {"stateless"}

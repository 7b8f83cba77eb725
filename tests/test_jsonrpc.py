"""What an incoming message is, whatever it looks like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import jsonrpc


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"id":1,"result":{}}', "response"),
        (b'{"id":1,"result":null}', "response"),
        (b'{"id":1,"result":[1]}', "response"),
        (b'{"id":1,"error":{"code":1,"message":"x"}}', "response"),
        (b'{"id":1,"error":"boom"}', "response"),
        (b'{"id":"s-1","method":"ping"}', "request"),
        (b'{"id":0,"method":"ping"}', "request"),
        (b'{"method":"notifications/progress"}', "notification"),
        (b'{"type":"heartbeat"}', "noise"),
        (b'{"jsonrpc":"2.0","result":null}', "response"),
    ],
)
def test_a_message_is_known_by_its_members(body: bytes, kind: str) -> None:
    envelope = jsonrpc.read(body)
    assert envelope is not None
    assert envelope.kind == kind


@pytest.mark.parametrize("body", [b"", b"Ready on stdio", b"[1,2]", b'{"id":1,', b"\xff\xfe", b"3"])
def test_what_is_no_message_is_none(body: bytes) -> None:
    assert jsonrpc.read(body) is None


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"content": []}, "ok"),
        ({"content": [], "isError": False, "resultType": "complete"}, "ok"),
        ({"content": [], "isError": True}, "tool_error"),
        ({"resultType": "input_required", "inputRequests": {}}, "input_required"),
    ],
)
def test_a_result_says_what_became_of_the_call(result: object, outcome: str) -> None:
    envelope = jsonrpc.read(json.dumps({"id": 1, "result": result}).encode())
    assert envelope is not None
    assert envelope.outcome == outcome


def test_an_error_object_is_a_protocol_error_with_its_code() -> None:
    envelope = jsonrpc.read(b'{"id":1,"error":{"code":-32602,"message":"Unknown tool"}}')
    assert envelope is not None
    assert (envelope.outcome, envelope.error_code) == ("protocol_error", -32602)


def test_a_ping_is_answered_and_anything_else_is_refused_at_once() -> None:
    ping = jsonrpc.read(b'{"id":"s-1","method":"ping"}')
    roots = jsonrpc.read(b'{"id":3,"method":"roots/list"}')
    assert ping is not None
    assert roots is not None
    assert json.loads(jsonrpc.answer(ping)) == {"jsonrpc": "2.0", "id": "s-1", "result": {}}
    assert json.loads(jsonrpc.answer(roots))["error"]["code"] == -32601


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    envelope = jsonrpc.read(body)
    if envelope is not None:
        assert envelope.kind
        assert envelope.outcome
    assert isinstance(jsonrpc.result_of(body), dict)

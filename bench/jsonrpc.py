"""JSON-RPC 2.0 messages: nouns to bytes, and bytes to what they mean."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from bench.model import Kind, Outcome

Id: TypeAlias = int | float | str | None

METHOD_NOT_FOUND = -32601
MOST_CODE = 1 << 53
QUOTED_LETTERS = 200

_encode = msgspec.json.Encoder().encode


class RpcError(msgspec.Struct, frozen=True):
    """The `error` member of a response (JSON-RPC 2.0, section 5.1)."""

    code: int
    message: str = ""
    data: msgspec.Raw = msgspec.Raw(b"")


class Result(msgspec.Struct, frozen=True):
    """The two members of a result that decide its outcome; the rest stays in the bytes."""

    isError: bool = False
    resultType: str | None = None


class Envelope(msgspec.Struct, frozen=True):
    """One incoming message, read just far enough to know what it is.

    A member that is absent is UNSET; `id: null` is None (JSON-RPC 2.0 tells the two apart).
    """

    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    result: Result | msgspec.UnsetType | None = msgspec.UNSET
    error: RpcError | msgspec.UnsetType = msgspec.UNSET

    @property
    def kind(self) -> Kind:
        """What the message is, by its members."""
        if self.method is not msgspec.UNSET:
            return "notification" if self.id is msgspec.UNSET else "request"
        answered = self.result is not msgspec.UNSET or self.error is not msgspec.UNSET
        return "response" if answered else "noise"

    @property
    def outcome(self) -> Outcome:
        """What a response says became of its request (MCP 2026-07-28, basic/index: resultType)."""
        if isinstance(self.error, RpcError):
            return "protocol_error"
        if isinstance(self.result, Result):
            if self.result.resultType == "input_required":
                return "input_required"
            if self.result.isError:
                return "tool_error"
        return "ok"

    @property
    def error_code(self) -> int | None:
        """The code of a JSON-RPC error, 0 for one that no program could mean; else None."""
        if not isinstance(self.error, RpcError):
            return None
        return self.error.code if abs(self.error.code) < MOST_CODE else 0


class _Loose(msgspec.Struct, frozen=True):
    """What is left of a message whose members have types of their own making."""

    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_loose = msgspec.json.Decoder(_Loose).decode
_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read(body: bytes) -> Envelope | None:
    """The message in `body`, or None where it is no JSON-RPC message."""
    try:
        return _decode_envelope(body)
    except msgspec.ValidationError:
        return _read_loosely(body)
    except _UNREADABLE:
        return None


def why_unreadable(body: bytes) -> str:
    """What the reader says against `body`; empty where it is JSON."""
    try:
        msgspec.json.decode(body)
    except _UNREADABLE as error:
        return str(error)
    return ""


def messages(body: bytes) -> list[bytes]:
    """The messages in `body`: itself, or the members of a batch (MCP 2025-03-26, basic/index)."""
    if body[:1] != b"[":
        return [body]
    try:
        return [bytes(member) for member in _decode_batch(body)] or [body]
    except _UNREADABLE:
        return [body]


def _read_loosely(body: bytes) -> Envelope | None:
    """A reply whose result or error has a shape the protocol does not know still ends its call."""
    try:
        loose = _decode_loose(body)
    except _UNREADABLE:
        return None
    if loose.method is not msgspec.UNSET:
        return None
    if loose.error is not msgspec.UNSET:
        return Envelope(id=loose.id, error=RpcError(code=0, message="error of unknown shape"))
    return Envelope(id=loose.id, result=None) if loose.result is not msgspec.UNSET else None


def request(id: int, method: str, params: Any) -> bytes:
    """The bytes of a request; `params` None leaves the member out."""
    return _encode(_with_params({"jsonrpc": "2.0", "id": id, "method": method}, params))


def notification(method: str, params: Any = None) -> bytes:
    """The bytes of a notification, which has no id and gets no reply."""
    return _encode(_with_params({"jsonrpc": "2.0", "method": method}, params))


def answer(envelope: Envelope) -> bytes:
    """Our reply to a request the server made: `{}` to a ping, else "method not found"."""
    if envelope.method == "ping":
        return _encode({"jsonrpc": "2.0", "id": envelope.id, "result": {}})
    method = str(envelope.method)[:QUOTED_LETTERS]
    refusal = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
    return _encode({"jsonrpc": "2.0", "id": envelope.id, "error": refusal})


def response(id: Id, result: Any) -> bytes:
    """The bytes of our reply to a request the server made."""
    return _encode({"jsonrpc": "2.0", "id": id, "result": result})


def progress_token(body: bytes) -> Id:
    """The `progressToken` of a progress notification; None where it has none of a known type."""
    token = _member(body, "params").get("progressToken")
    return token if isinstance(token, int | str) else None


def result_of(body: bytes) -> dict[str, Any]:
    """The `result` of a response as plain data; empty where there is none or it is no object."""
    return _member(body, "result")


def error_of(body: bytes) -> dict[str, Any]:
    """The `error` of a response as plain data; empty where there is none."""
    return _member(body, "error")


def words_of(body: bytes) -> str:
    """What a refusal or a failed tool says: the error's message, else the first text of its result.

    Empty where it says nothing.
    """
    error = error_of(body)
    if error:
        return str(error.get("message", ""))
    content = result_of(body).get("content")
    texts = (
        [part.get("text") for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else []
    )
    return next((text for text in texts if isinstance(text, str)), "")


def _member(body: bytes, name: str) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(body)
    except _UNREADABLE:
        return {}
    member = decoded.get(name) if isinstance(decoded, dict) else None
    return member if isinstance(member, dict) else {}


def _with_params(message: dict[str, Any], params: Any) -> dict[str, Any]:
    return message if params is None else {**message, "params": params}

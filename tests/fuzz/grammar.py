"""What a server may send, from right to wrong: messages, lines, events, responses, and bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

MOST_CALLS = 4
WORDS = (
    "jsonrpc", "id", "method", "params", "result", "error", "code", "message", "content", "text",
    "isError", "resultType", "tools", "name", "inputSchema", "properties", "required", "type",
    "nextCursor", "protocolVersion", "capabilities", "serverInfo", "supportedVersions", "version",
    "x-mcp-header", "items", "description",
)  # fmt: skip
ODD_TEXTS = (
    "",
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "\x85",
    "\ufeff",
    "2025-11-25",
    "2026-07-28",
    "x" * 500,
)
ODD_NUMBERS = (0, -1, 1.0, 2**53, -(2**63), 2**64, 10**30, 1e308)

texts = st.one_of(st.sampled_from((*WORDS, *ODD_TEXTS)), st.text(max_size=12))
scalars = st.one_of(
    st.none(), st.booleans(), st.sampled_from(ODD_NUMBERS), st.integers(-9, 9), texts
)
junk: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(WORDS), texts), inner, max_size=4),
    ),
    max_leaves=8,
)


def weighted(weights: Mapping[SearchStrategy[Any], int]) -> SearchStrategy[Any]:
    """One of these, the heavier the more often."""
    every = [one for one, weight in weights.items() for _ in range(weight)]
    return st.integers(0, len(every) - 1).flatmap(every.__getitem__)


@st.composite
def mutated(draw: DrawFn, valid: Any) -> Any:
    """The value with one to three of its parts left out, or anything in their place."""
    found = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(found))
        if not places:
            return draw(junk)
        holder, key = draw(st.sampled_from(places))
        if draw(st.booleans()) or isinstance(holder, list):
            holder[key] = draw(junk)
        else:
            del holder[key]
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of a value, as what holds it and where; those deep inside too."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def encoded(value: object) -> bytes:
    """JSON as servers write it."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def reply(id: object, text: str = "fine") -> bytes:
    """A good reply to a call."""
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    return encoded({"jsonrpc": "2.0", "id": id, "result": result})


class Item(NamedTuple):
    """One message as bytes; `answers`: the call that it is a good reply to."""

    body: bytes
    answers: int | None = None


texts_of_replies = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
good_replies = st.builds(
    lambda id, text: Item(reply(id, text), id), st.integers(1, MOST_CALLS), texts_of_replies
)
# No reply to any call of ours, and no mistake that ends one: each is one message, or one noise.
harmless_bodies = st.one_of(
    st.sampled_from(
        [
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}',
            b'{"jsonrpc":"2.0","id":"s-1","method":"ping"}',
            b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}',
            b'{"jsonrpc":"2.0","id":77,"result":{}}',
            b'{"jsonrpc":"2.0","id":"1","result":{}}',
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
            b'{"type":"heartbeat"}',
            b"INFO server ready",
            b"\xff\xfe\x00",
            b"[]",
            b"]",
            b'"text"',
            b"17",
            b"null",
        ]
    ),
    st.binary(min_size=1, max_size=30).map(lambda line: b"# " + line.translate(None, b"\r\n")),
).map(Item)
broken_bodies = st.one_of(
    st.builds(lambda id: reply(id)[:-3], st.integers(1, MOST_CALLS)),
    st.builds(lambda id: reply(id).replace(b"fine", b"\x97"), st.integers(1, MOST_CALLS)),
    st.builds(lambda id: reply(id).replace(b'"fine"', b"NaN"), st.integers(1, MOST_CALLS)),
    st.builds(lambda id: reply(id).replace(b"fine", b"\\ud83d"), st.integers(1, MOST_CALLS)),
    st.builds(lambda id: reply(id).replace(b", ", b",\n"), st.integers(1, MOST_CALLS)),
    st.builds(
        lambda id: json.dumps({"id": id, "result": {}}, indent=1).encode(), st.integers(1, 4)
    ),
    st.lists(good_replies, max_size=3).map(lambda of: b"[" + b",".join(i.body for i in of) + b"]"),
    mutated({"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": False}}).map(encoded),
    mutated({"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "x"}}).map(encoded),
    st.integers(1, 3_000).map(lambda depth: b'{"id":1,"result":' + b"[" * depth),
    st.integers(1, 2_000).map(lambda size: b'{"id":1,"result":"' + b"x" * size + b'"}'),
    st.just(b"Content-Length: 44\r\n\r\n" + reply(1)),
)
garbage = st.one_of(st.binary(max_size=40), junk.map(encoded))
cuts = st.lists(st.integers(1, 60), max_size=30)


def pieces(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The data cut into pieces of these sizes, and what is left."""
    found = []
    for size in sizes:
        found.append(data[:size])
        data = data[size:]
    return [piece for piece in (*found, data) if piece]


def event(body: bytes, end: bytes = b"\n") -> bytes:
    """A message as one server-sent event."""
    return b"data: " + body + end + end


def chunked(body: bytes, sizes: Sequence[int], extension: bytes = b"") -> bytes:
    """A body in HTTP chunks."""
    parts = pieces(body, sizes)
    return b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in parts) + b"0\r\n\r\n"


class Response(NamedTuple):
    """The bytes that answer one request and the pieces they are written in; `then` how it ends."""

    written: tuple[bytes, ...]
    then: str


@st.composite
def good_responses(draw: DrawFn, id: int) -> Response:
    """A response that holds the reply, in every form that one may have."""
    body, ends = reply(id), st.sampled_from([b"\n", b"\r\n", b"\r"])
    head = b"HTTP/1.1 200 OK\r\n" + draw(
        st.sampled_from([b"", b"X-Long: " + b"y" * 9_000 + b"\r\n"])
    )
    if draw(st.booleans()):
        head += b"Content-Type: application/json\r\n"
    else:
        before = draw(st.lists(st.one_of(harmless_bodies, st.just(Item(b""))), max_size=3))
        odd = draw(
            st.sampled_from([b"", b": alive\n", b"id: 1\n", b"event: message\n", b"\xef\xbb\xbf"])
        )
        lines = [event(one.body.replace(b"\n", b""), b"\n") for one in before]
        body = odd + b"".join([*lines, event(body)])
        body = body.replace(b"\n", draw(ends))
        head += b"Content-Type: text/event-stream; charset=utf-8\r\n"
    way = draw(st.sampled_from(["length", "chunked", "end"]))
    if way == "length":
        data = head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    elif way == "chunked":
        extension = draw(st.sampled_from([b"", b";a=b", b';a="b; c"']))
        data = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, draw(cuts), extension)
    else:
        data = head + b"Connection: close\r\n\r\n" + body
    interim = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    then = "close" if way == "end" else draw(st.sampled_from(["keep", "close"]))
    return Response(tuple(pieces(interim + data, draw(cuts))), then)


@st.composite
def doubled_responses(draw: DrawFn, id: int) -> Response:
    """A good response, and in one piece with its end what nothing has asked for."""
    *first, last = draw(good_responses(id).filter(lambda one: one.then == "keep")).written
    other = b"".join(draw(good_responses(draw(st.integers(1, MOST_CALLS)))).written)
    more = draw(st.sampled_from([other[: draw(st.integers(1, len(other)))], b"\r\n", b"garbage"]))
    return Response((*first, last + more), "keep")


@st.composite
def bad_responses(draw: DrawFn) -> Response:
    """A response that is cut, doubled, overwritten, or no response at all."""
    good = b"".join(draw(good_responses(draw(st.integers(1, MOST_CALLS)))).written)
    at = draw(st.integers(0, len(good)))
    until = draw(st.integers(at, len(good)))
    data = draw(
        st.sampled_from(
            [
                good[:at],
                good + good[:at],
                good[:at] + good[until:],
                good[:at] + draw(garbage) + good[until:],
                draw(garbage),
                good.replace(b"200", b"202", 1),
                good.replace(b"200", b"404", 1),
                good.replace(b"200", b"101", 1),
                good.replace(b"200", b"204", 1),
                good.replace(b"Length: ", b"Length: 9", 1),
                good.replace(b"Length: ", b"Length: -", 1),
                good.replace(b"\r\n", b"\n"),
                b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * draw(st.integers(0, 2_000)),
            ]
        )
    )
    then = draw(st.sampled_from(["close", "reset"]))
    return Response(tuple(pieces(data, draw(cuts))), then)

"""What must hold whatever a server sends: our own errors only, an end, replies in their place."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from bench import finder, jsonrpc, reported, summary
from bench.errors import BenchError
from bench.model import OUTCOMES, Cell, Endpoint, EraName, Limits, Reply, Server, Step
from bench.recorder import Recorder
from bench.report import FORMATS, trace
from bench.report.figures import harmless
from bench.session import Session
from bench.tracefile import Traced
from bench.wire import memory
from bench.wire.lines import LineReader, MessageTooLong
from bench.wire.sse import SseReader
from tests.fuzz import answers, grammar
from tests.fuzz.grammar import Item, Response, pieces
from tests.fuzz.played import over_pipes, over_sockets, recording
from tests.story import CountingClock, Responder, run_in_memory

HASTE = Limits(call_s=0.001, setup_s=0.001)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n \n"])


class Property(NamedTuple):
    """Something that holds for every example of a strategy; so many of them in `make check`."""

    examples: SearchStrategy[Any]
    holds: Callable[[Any], None]
    checked: int


def prove(name: str, given_settings: settings) -> None:
    """Raise where it does not hold, with the smallest example that was found."""
    found = PROPERTIES[name]

    @given_settings
    @given(found.examples)
    def holds(example: Any) -> None:
        found.holds(example)

    holds()


def _no_reply_is_out_of_its_place(example: tuple[list[tuple[Item, bytes]], list[int]]) -> None:
    """Over a pipe: every message is kept, in order, and the first reply to a call ends it."""
    items, cuts = example
    stream = b"".join(item.body + end for item, end in items)
    replies, recorder = over_pipes(pieces(stream, cuts), grammar.MOST_CALLS)
    for id, got in enumerate(replies, start=1):
        first = next((item.body for item, _ in items if item.answers == id), None)
        assert (got.outcome, got.body) == (
            ("transport_error", b"") if first is None else ("ok", first)
        )
    bodies = [one.body for one in recorder.transcript if one.direction == "in"]
    assert bodies == [item.body.decode("utf-8", "backslashreplace") for item, _ in items]


def _any_bytes_over_a_pipe_end_every_call(example: tuple[list[bytes], list[int]]) -> None:
    """Over a pipe: whatever the bytes, each call has an outcome, and an ok one its own reply."""
    parts, cuts = example
    replies, recorder = over_pipes(pieces(b"".join(parts), cuts), grammar.MOST_CALLS)
    _each_has_its_own(replies)
    _can_be_shown(recorder)


def _a_bad_response_spoils_no_other(example: list[Response | None]) -> None:
    """Over HTTP: a call whose response is good is ok, whatever was sent to those before it."""
    responses = [one for one in example if one is not None]
    replies, recorder = over_sockets(responses)
    _each_has_its_own(replies)
    for number, (got, sent) in enumerate(zip(replies, responses, strict=True), start=1):
        if isinstance(sent, Good):
            assert got.outcome == "ok", (number, got.why)
            assert got.body == grammar.reply(number)
    _can_be_shown(recorder)


def _each_has_its_own(replies: Sequence[Reply]) -> None:
    for id, got in enumerate(replies, start=1):
        assert got.outcome in OUTCOMES
        assert got.outcome != "timeout", "a call waited for its limit"
        assert got.why or got.received_ns is not None
        if got.received_ns is not None:
            envelope = jsonrpc.read(got.body)
            assert envelope is not None
            assert envelope.id == id
            assert got.sent_ns <= (got.first_byte_ns or got.received_ns) <= got.received_ns


def _can_be_shown(recorder: Recorder) -> None:
    traced = Traced(recorder.transcript, None)
    text = trace.render(traced)
    assert text.replace("\n", "") == harmless(text.replace("\n", ""))
    json.dumps(trace.document(traced), allow_nan=False)
    recorder.take()


def _readers_keep_no_more_than_the_limit(example: tuple[list[bytes], list[int], int]) -> None:
    """Lines and events: bounded, and the same whatever the chunks."""
    parts, cuts, limit = example
    data = b"".join(parts)
    for make in (LineReader, SseReader):
        chunked = _read(make(limit_bytes=limit), pieces(data, cuts), limit)
        assert chunked == _read(make(limit_bytes=limit), [data], limit)
        assert chunked == _read(make(limit_bytes=limit), pieces(data, [1] * len(data)), limit)


def _read(reader: LineReader | SseReader, chunks: Sequence[bytes], limit: int) -> list[bytes]:
    found: list[bytes] = []
    for chunk in chunks:
        try:
            found += reader.feed(chunk)
        except MessageTooLong as error:
            return [*found, *error.before]
        assert reader.held_bytes <= limit + len(b"data: ") + len(b"\r")
    return found


def _a_session_raises_our_own_errors_only(example: tuple[EraName, Mapping[str, Any]]) -> None:
    """A session, whatever it is answered: its own errors, and a trace that can be read."""
    era, answered = example

    def respond(body: bytes) -> Sequence[bytes]:
        message = json.loads(body)
        answer = answered.get(message["method"], {"result": {}})
        if "id" not in message or answer is None:
            return ()
        return [grammar.encoded({"jsonrpc": "2.0", "id": message["id"], **answer})]

    memory.SERVERS["fuzz"] = respond
    recorder = recording()
    with contextlib.suppress(BenchError):
        anyio.run(_whole_session, era, recorder)
    _can_be_shown(recorder)


async def _whole_session(era: EraName, recorder: Recorder) -> None:
    wire = await memory.open(Endpoint(url="fuzz"), recorder)
    cell = Cell(name="fuzz", scenario="", server="fuzz", transport="memory", era=era)
    session = Session(Server(name="fuzz"), cell, recorder, wire, None, HASTE)
    await session.open()
    tools = await session.tools()
    for tool in tools[:2]:
        reply = await session.call(
            session.request(Step(tool=tool.name, arguments={"text": "x", "n": 1}))
        )
        jsonrpc.result_of(reply.body)
        jsonrpc.error_of(reply.body)
    finder.choose(tools, None, {})


def _any_run_can_be_stored_and_shown(example: Mapping[str, Any]) -> None:
    """A whole run, whatever is answered: stored, read back, summed up, shown, all of it strict."""
    clock = CountingClock()
    respond = Responder(clock, {"tools/call": 1_000})
    respond.answers.update(example)
    with tempfile.TemporaryDirectory() as folder:
        _, run = run_in_memory(Path(folder), respond, clock, launches=2, calls=2, call_limit_s=0.01)
        document = summary.document(run)
    json.dumps(document, allow_nan=False)
    for render in FORMATS.values():
        text = render(document).replace("\n", "")
        assert text == harmless(text)


def _a_header_tells_a_time_or_none(example: bytes) -> None:
    """A Server-Timing header: whole nanoseconds that a table can hold, or None."""
    told = reported.header_ns(example)
    assert told is None or abs(told) < 2**63


class Good(Response):
    """A response that must be read."""

    __slots__ = ()


def _good(id: int) -> SearchStrategy[Response]:
    either = st.one_of(grammar.good_responses(id), grammar.doubled_responses(id))
    return either.map(lambda one: Good(*one))


_KNOWN = st.one_of(grammar.good_replies, grammar.harmless_bodies)
_ANY = st.one_of(_KNOWN, grammar.broken_bodies.map(Item), grammar.garbage.map(Item)).map(
    lambda item: item.body
)
_TIMINGS = st.lists(
    st.one_of(
        st.sampled_from([b"total;dur=", b"dur", b"=", b"1e400", b"nan", b"inf", b'"', b",", b";"]),
        st.binary(max_size=9),
    ),
    max_size=12,
).map(b"".join)

PROPERTIES: Mapping[str, Property] = {
    "no reply is out of its place": Property(
        st.tuples(st.lists(st.tuples(_KNOWN, ENDS), max_size=12), grammar.cuts),
        _no_reply_is_out_of_its_place,
        400,
    ),
    "any bytes over a pipe end every call": Property(
        st.tuples(st.lists(st.one_of(_ANY, ENDS), max_size=20), grammar.cuts),
        _any_bytes_over_a_pipe_end_every_call,
        500,
    ),
    "a bad response spoils no other": Property(
        st.tuples(
            *(st.one_of(_good(id), grammar.bad_responses()) for id in (1, 2)),
            *(st.one_of(st.none(), _good(id)) for id in (3,)),
        ),
        _a_bad_response_spoils_no_other,
        400,
    ),
    "readers keep no more than the limit": Property(
        st.tuples(
            st.lists(
                st.one_of(_ANY, ENDS, st.sampled_from([b"data: ", b"\r", b"data", b": "])),
                max_size=20,
            ),
            grammar.cuts,
            st.integers(1, 80),
        ),
        _readers_keep_no_more_than_the_limit,
        260,
    ),
    "a session raises our own errors only": Property(
        st.tuples(
            st.sampled_from(["stateful", "stateless"]),
            st.fixed_dictionaries(answers.ANSWERS),
        ),
        _a_session_raises_our_own_errors_only,
        300,
    ),
    "any run can be stored and shown": Property(
        st.fixed_dictionaries(
            {}, optional={name: answers.always(v) for name, v in answers.VALID.items()}
        ),
        _any_run_can_be_stored_and_shown,
        40,
    ),
    "a header tells a time or none": Property(_TIMINGS, _a_header_tells_a_time_or_none, 100),
}

"""Any chunking of the bytes gives the same messages, as lines and as events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wire.lines import LineReader, MessageTooLong
from bench.wire.sse import SseReader

CUTS = st.lists(st.integers(1, 40), max_size=60)
LINES = st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b" ")), max_size=8)


def _chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    chunks = []
    for cut in cuts:
        chunks.append(data[:cut])
        data = data[cut:]
    return [*chunks, data]


def _lines(chunks: list[bytes]) -> list[bytes]:
    reader = LineReader()
    return [line for chunk in chunks for line in reader.feed(chunk)]


def _events(chunks: list[bytes]) -> list[bytes]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


@given(LINES, CUTS)
def test_any_chunking_gives_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert _lines(_chunks(data, cuts)) == _lines([data])


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), CUTS)
def test_lines_are_the_bytes_between_newlines(parts: list[bytes], cuts: list[int]) -> None:
    lines = [b"{" + part.replace(b"\n", b"").replace(b"\r", b"") for part in parts]
    assert _lines(_chunks(b"".join(line + b"\n" for line in lines), cuts)) == lines


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
@given(cuts=CUTS)
def test_a_byte_order_mark_and_cr_are_accepted(mark: bytes, cuts: list[int]) -> None:
    assert _lines(_chunks(mark + b'{"a":1}\r\n{"b":2}\n', cuts)) == [b'{"a":1}', b'{"b":2}']


def test_only_byte_0x0a_ends_a_line() -> None:
    line = '{"text":"a\u2028b\u2029c\u0085d",\r"e":1}'.encode()
    assert _lines([line + b"\n"]) == [line]


def test_a_line_over_the_limit_is_named_and_not_kept() -> None:
    reader = LineReader(limit_bytes=100)
    reader.feed(b"x" * 90)
    with pytest.raises(MessageTooLong, match="100 bytes"):
        reader.feed(b"x" * 20)


TORTURE = (
    b': comment\nid: 1\ndata\n\ndata: {"type":"heartbeat"}\n\n'
    b'event: message\ndata: {"a":\ndata: 1}\nretry: 500\n\ndata:last\n\n'
)
EVENTS = [b'{"type":"heartbeat"}', b'{"a":\n1}', b"last"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(cuts=CUTS)
def test_events_survive_every_line_end_and_every_chunking(end: bytes, cuts: list[int]) -> None:
    data = TORTURE.replace(b"\n", end)
    assert _events(_chunks(data, cuts)) == EVENTS
    assert _events([bytes([byte]) for byte in data]) == EVENTS


def test_an_event_is_complete_at_its_blank_line_and_not_before() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\n") == []
    assert reader.feed(b"\n") == [b"1"]


def test_an_event_over_the_limit_is_named_and_not_kept() -> None:
    reader = SseReader(limit_bytes=100)
    reader.feed(b"data: " + b"x" * 90)
    with pytest.raises(MessageTooLong, match="100 bytes"):
        reader.feed(b"x" * 20)

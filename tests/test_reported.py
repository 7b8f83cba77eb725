"""What a server says of its own time: `Server-Timing` headers, and spans as they arrive."""

from __future__ import annotations

import gzip
import http.client
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent

from bench import spans
from bench.errors import COULD_NOT, BenchError
from bench.reported import PREFERRED, header_ns
from bench.spans import Receiver
from tests.outside import PATIENCE_S, conversing

MS = 1_000_000


@pytest.mark.parametrize(
    ("raw", "took_ns"),
    [
        (b"handler;dur=12.3", 12_300_000),
        (b"handler;dur=12.3, db;dur=2", 12_300_000),
        (b'db;dur=2,\tTool ; desc="a, b; dur=9" ;DUR="0.5"', 500_000),
        (b"total;dur=9, work;dur=4", 4 * MS),
        (b"anything;dur=1e1", 10 * MS),
        (b"cache;desc=hit, db;dur=53", 53 * MS),
        (b"handler;dur=1;dur=2", MS),
        (b"handler;dur=1, handler;dur=2", MS),
        (b"handler;dur=0", 0),
        (b"handler;dur=-1", -MS),
        (b"db;dur=2, cache;dur=1", None),
        (b"handler", None),
        (b"handler;dur", None),
        (b"handler;dur=soon", None),
        (b"handler;dur=nan", None),
        (b"handler;dur=1e999", None),
        (b";dur=3", None),
        (b";name;dur=3", None),
        (b" , ;, db;dur=3", 3 * MS),
        (b"", None),
        (None, None),
    ],
)
def test_a_header_tells_the_metric_of_the_tool_or_the_only_one(
    raw: bytes | None, took_ns: int | None
) -> None:
    assert header_ns(raw) == took_ns


@given(st.binary() | st.text('abdur;=," \\.e-+0123456789', max_size=60).map(str.encode))
def test_any_header_is_read_to_an_int64_or_to_nothing(raw: bytes) -> None:
    found = header_ns(raw)
    assert found is None or -(2**63) < found < 2**63


@given(
    st.dictionaries(st.sampled_from([*PREFERRED, "db", "cache", "miss"]), st.integers(0, 10**6)),
    st.text("ab,;= ").map(lambda text: f';desc="{text}"'),
)
def test_the_first_preferred_metric_counts_in_whatever_order_and_company(
    metrics: Mapping[str, int], between: str
) -> None:
    raw = ", ".join(f"{name}{between};dur={took_ms}" for name, took_ms in metrics.items()).encode()
    preferred = [metrics[name] * MS for name in PREFERRED if name in metrics]
    alone = [took_ms * MS for took_ms in metrics.values()] if len(metrics) == 1 else []
    assert header_ns(raw) == next(iter([*preferred, *alone]), None)


def _export(*found: Sent) -> bytes:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(found)
    return request.SerializeToString()


def _sent(traceparent: str, took_ns: int, *, parent: bytes | None = None, kind: int = 2) -> Sent:
    _, trace_id, span_id, _ = traceparent.split("-")
    return Sent(
        trace_id=bytes.fromhex(trace_id),
        parent_span_id=bytes.fromhex(span_id) if parent is None else parent,
        kind=Sent.SpanKind.ValueType(kind),
        start_time_unix_nano=10**18,
        end_time_unix_nano=10**18 + took_ns,
    )


def _post(receiver: Receiver, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
    base = receiver.environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
    named = {"content-type": "application/x-protobuf"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(base + path, data=body, headers=named)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE_S) as response:
            status: int = response.status
            return status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_spans_come_plain_or_packed_and_what_is_none_is_refused() -> None:
    with Receiver() as receiver:
        one, two = receiver.traceparent(7), receiver.traceparent(8)
        assert _post(receiver, _export(_sent(one, 5))) == 200
        packed = gzip.compress(_export(_sent(two, 6)))
        assert _post(receiver, packed, content_encoding="gzip") == 200
        assert _post(receiver, b"no gzip", content_encoding="gzip") == 400
        assert _post(receiver, b"{}", content_type="application/json") == 415
        assert _post(receiver, b"", "/v1/metrics") == 404
        assert _post(receiver, b"\xff no protobuf") == 200
        assert receiver.durations() == {7: 5, 8: 6}


def test_the_span_right_under_the_call_counts_then_the_longest_and_no_stranger() -> None:
    receiver, other = Receiver(), Receiver()
    with receiver, other:
        mine, late, never = receiver.traceparent(1), receiver.traceparent(2), "00-" + "0" * 32
        found = [
            _sent(mine, 30),
            _sent(mine, 40),
            _sent(mine, 90, parent=b"gateway!"),
            _sent(mine, 99, kind=1),
            _sent(late, 20, parent=b"gateway!"),
            _sent(other.traceparent(1), 50),
            _sent(f"{never}-{'0' * 16}-01", 60),
            Sent(trace_id=b"short", kind=Sent.SPAN_KIND_SERVER, start_time_unix_nano=1),
        ]
        assert _post(receiver, _export(*found)) == 200
        assert receiver.durations() == {1: 40, 2: 20}


def test_waiting_for_spans_ends_when_all_are_there_and_when_none_will_come() -> None:
    async def main() -> None:
        with Receiver() as receiver:
            receiver.bodies.append(_export(_sent(receiver.traceparent(1), 5)))
            await receiver.settled()
            assert receiver.durations() == {1: 5}
            receiver.traceparent(2)
            await receiver.settled()
            await receiver.drained()
            assert receiver.durations() == {1: 5}

    conversing(main)


def test_a_connection_that_speaks_no_http_or_never_ends_does_no_harm() -> None:
    with Receiver() as receiver:
        base = receiver.environment["OTEL_EXPORTER_OTLP_ENDPOINT"].removeprefix("http://")
        kept, odd = http.client.HTTPConnection(base), http.client.HTTPConnection(base)
        for each in (kept, odd):
            each.timeout = PATIENCE_S
            each.connect()
        odd.sock.sendall(b"\x00\x01 nothing of ours\r\n\r\n")
        assert odd.sock.recv(100) == b""
        assert _post(receiver, _export(_sent(receiver.traceparent(1), 5))) == 200
    assert receiver.durations() == {1: 5}
    kept.close()
    odd.close()


def test_without_what_reads_spans_the_way_to_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1", None)
    with pytest.raises(BenchError, match=r"pip install 'mcp-latency\[spans\]'") as caught:
        spans.require()
    assert caught.value.exit_code == COULD_NOT

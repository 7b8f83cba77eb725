"""The columns of the tables in a results folder, and what each holds: whole numbers or text."""

from __future__ import annotations

from collections.abc import Mapping

CALL_COLUMNS: Mapping[str, str] = {
    "cell": "text",
    "launch": "int",
    "round": "int",
    "call": "int",
    "phase": "text",
    "tool": "text",
    "outcome": "text",
    "error_code": "int",
    "intended_ns": "int",
    "sent_ns": "int",
    "written_ns": "int",
    "first_byte_ns": "int",
    "received_ns": "int",
    "decoded_ns": "int",
    "read_ns": "int",
    "entered_ns": "int",
    "left_ns": "int",
    "writing_ns": "int",
    "request_bytes": "int",
    "response_bytes": "int",
    "wire_requests": "int",
    "in_flight": "int",
    "request_id": "int",
    "local_port": "int",
    "header_ns": "int",
    "reported_ns": "int",
    "reported_by": "text",
    "connecting_ns": "int",
    "connected_ns": "int",
    "out_ns": "int",
    "in_ns": "int",
    "think_ns": "int",
    "asked_ns": "int",
    "progress_ns": "int",
    "event_ns": "int",
    "cancelled_ns": "int",
}
SPAN_COLUMNS: Mapping[str, str] = {"launch": "int", "call": "int", "reported_ns": "int"}
STAMP_COLUMNS: Mapping[str, str] = {
    "launch": "int",
    "call": "int",
    "read_ns": "int",
    "entered_ns": "int",
    "left_ns": "int",
    "writing_ns": "int",
}
MESSAGE_COLUMNS: Mapping[str, str] = {
    "cell": "text",
    "launch": "int",
    "seq": "int",
    "at_ns": "int",
    "direction": "text",
    "kind": "text",
    "method": "text",
    "id": "text",
    "bytes": "int",
    "http_status": "int",
}

"""The table of segments: sums are exact, and missing stamps stay missing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench import segments
from bench.segments import CALL, MISSING, SETUP, Stamps

POINTS = ("sent", "read", "entered", "left", "writing", "received")
STEPS = st.lists(st.integers(0, 10**9), min_size=6, max_size=6)
PARTS = [segment.name for segment in CALL if segment.part_of == "call"]


def _stamps(rows: list[list[int]]) -> dict[str, Stamps]:
    table = np.cumsum(np.array(rows, np.int64), axis=1)
    return {point: table[:, column] for column, point in enumerate(POINTS)}


@given(st.lists(STEPS, min_size=1, max_size=20))
def test_the_segments_of_a_call_sum_to_the_call_to_the_nanosecond(rows: list[list[int]]) -> None:
    found = segments.calls(_stamps(rows))
    assert (np.sum([found[part] for part in PARTS], axis=0) == found["call"]).all()
    assert (found["boundary"] + found["work"] == found["call"]).all()
    assert segments.unsound(found, CALL, "call") == 0


def test_a_missing_stamp_makes_its_segments_missing_and_no_other() -> None:
    stamps = _stamps([[1, 1, 1, 1, 1, 1]] * 2)
    stamps["entered"] = np.array([MISSING, 3], np.int64)
    found = segments.calls(stamps)
    assert found["work"].tolist() == [MISSING, 1]
    assert found["boundary"].tolist() == [MISSING, 4]
    assert found["call"].tolist() == [5, 5]


def test_segments_that_no_row_has_are_absent() -> None:
    found = segments.calls({"sent": np.array([1]), "received": np.array([5])})
    assert list(found) == ["call"]


def test_stamps_in_an_impossible_order_are_counted() -> None:
    stamps = _stamps([[1, 1, 1, 1, 1, 1]] * 3)
    stamps["read"] = np.array([0, 2, 0])
    found = segments.calls(stamps)
    assert segments.unsound(found, CALL, "call") == 2


def test_parts_that_do_not_sum_to_their_whole_are_counted() -> None:
    found = segments.calls(_stamps([[1, 1, 1, 1, 1, 1]] * 3))
    found["work"] = found["work"] + np.array([0, 1, 0])
    assert segments.unsound(found, CALL, "call") == 1


def test_a_connection_made_within_a_call_is_named_and_is_not_the_sdks_own_time() -> None:
    rows = {  # in the call, before it, none
        "sent": [100, 100, 100],
        "connecting": [110, 20, MISSING],
        "connected": [150, 90, MISSING],
        "out": [160, 160, 160],
        "in": [180, 180, 180],
        "received": [200, 200, 200],
    }
    found = segments.calls({point: np.array(each, np.int64) for point, each in rows.items()})
    assert found["call_connect"].tolist() == [40, 70, MISSING]
    assert found["client_out"].tolist() == [20, 60, 60]
    assert found["exchange"].tolist() == [20, 20, 20]
    parts = ("client_out", "call_connect", "exchange", "client_in")
    assert sum(int(found[part][0]) for part in parts) == found["call"][0]


def _setup(**points: int) -> dict[str, int]:
    stamps = {point: np.array([at_ns], np.int64) for point, at_ns in points.items()}
    return {name: int(values[0]) for name, values in segments.setups(stamps).items()}


def test_over_a_pipe_start_and_opening_are_one_without_a_probe() -> None:
    found = _setup(
        spawning=0,
        initialize_sent=5,
        initialize_received=400,
        initialized_sent=402,
        initialized_done=403,
        tools_sent=405,
        tools_received=410,
        ready=411,
    )
    assert found == {
        "setup": 411,
        "first_reply": 400,
        "initialized": 1,
        "tools_list": 5,
        "client": 5,
    }


def test_a_probe_takes_the_start_apart() -> None:
    found = _setup(
        spawning=0,
        process_up=20,
        imports_done=300,
        first_read=320,
        discover_sent=5,
        discover_received=330,
        tools_sent=331,
        tools_received=340,
        ready=340,
    )
    parts = ("interpreter", "imports", "serving", "discover", "tools_list", "client")
    assert [found[part] for part in parts] == [20, 280, 20, 10, 9, 1]
    assert sum(found[part] for part in parts) == found["setup"] == 340
    assert "first_reply" not in found


def test_over_a_connection_the_opening_has_a_beginning_and_boot_stands_beside() -> None:
    found = _setup(
        spawning=0,
        accepting=500,
        connecting=600,
        connected=601,
        initialize_sent=602,
        initialize_received=610,
        ready=612,
        first_sent=613,
        first_received=620,
    )
    assert found["boot"] == 500
    assert (found["connect"], found["initialize"], found["client"]) == (1, 8, 3)
    assert found["setup"] == 12
    assert found["first_result"] == 20
    assert "first_reply" not in found


def test_every_part_belongs_to_a_sum_of_its_table() -> None:
    for table in (CALL, SETUP):
        names = {segment.name for segment in table}
        assert {segment.part_of for segment in table} - {None} <= names


def test_an_opening_after_one_that_was_declined_begins_when_it_is_sent() -> None:
    declined = {"spawning": 0, "discover_sent": 5, "discover_received": 330}
    known = {**declined, "initialize_sent": 331, "initialize_received": 350, "ready": 351}
    found = _setup(**known)
    assert [found[part] for part in ("first_reply", "initialize", "client")] == [330, 19, 2]
    found = _setup(**known, process_up=20, imports_done=300, first_read=320)
    parts = ("interpreter", "imports", "serving", "discover", "initialize", "client")
    assert [found[part] for part in parts] == [20, 280, 20, 10, 19, 2]


def test_a_start_that_nobody_waited_for_is_no_part_of_the_setup() -> None:
    waited = {"spawning": 0, "process_up": 10, "imports_done": 30, "first_read": 40,
              "tools_sent": 5, "tools_received": 60, "ready": 61}  # fmt: skip
    unasked = {**waited, "ready": 6, "tools_sent": MISSING, "tools_received": MISSING}
    stamps = {point: np.array([waited[point], unasked[point]], np.int64) for point in waited}
    found = {name: values.tolist() for name, values in segments.setups(stamps).items()}
    assert found["setup"] == [61, 6]
    assert found["interpreter"] == [10, MISSING]
    assert found["imports"] == [20, MISSING]
    assert found["serving"] == [10, MISSING]
    assert found["tools_list"] == [20, MISSING]
    assert found["client"] == [1, 6]

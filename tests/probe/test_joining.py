"""Pairing records with calls: by id, by port and time; what is not certain is missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.probe import RECORD, Calls, join

CALL, CALL_ALONE, EXCHANGE, OPEN = 1, 2, 3, 4
HTTP = 4


def records(*rows: dict[str, Any]) -> NDArray[np.void]:
    made = np.zeros(len(rows), RECORD)
    for row, fields in zip(made, rows, strict=True):
        for name, value in fields.items():
            row[name] = value
    return made


def calls(*rows: tuple[int, int, int, int]) -> Calls:
    table = np.array(rows, np.int64).reshape(-1, 4)
    return Calls(*(table[:, column].copy() for column in range(4)))


def path(start: int) -> dict[str, int]:
    return {
        "read": start + 1,
        "entered": start + 2,
        "left": start + 3,
        "writing": start + 4,
    }


def test_a_stdio_record_belongs_to_the_call_with_its_id() -> None:
    made = records({"kind": CALL, "id": 8, **path(200)}, {"kind": CALL, "id": 7, **path(100)})
    joined = join(made, calls((7, 100, 105, 0), (8, 200, 205, 0), (9, 300, 305, 0)))
    assert joined.read_ns.tolist() == [101, 201, 0]
    assert joined.entered_ns.tolist() == [102, 202, 0]
    assert joined.left_ns.tolist() == [103, 203, 0]
    assert joined.writing_ns.tolist() == [104, 204, 0]
    assert (joined.ambiguous, joined.disordered) == (0, 0)


def test_an_http_exchange_belongs_to_the_call_on_its_port_at_its_time() -> None:
    exchange = {"kind": EXCHANGE, "flags": HTTP, "port": 50}
    made = records(
        {**exchange, "read": 101, "writing": 104},
        {**exchange, "read": 201, "writing": 204},
        {**exchange, "port": 51, "read": 102, "writing": 204},
        {"kind": CALL_ALONE, "flags": HTTP, "id": 2, "entered": 202, "left": 203},
        {"kind": CALL_ALONE, "flags": HTTP, "id": 1, "entered": 102, "left": 103},
        {"kind": CALL_ALONE, "flags": HTTP, "id": 3, "entered": 103, "left": 104},
    )
    joined = join(made, calls((1, 100, 105, 50), (2, 200, 205, 50), (3, 100, 205, 51)))
    assert joined.read_ns.tolist() == [101, 201, 102]
    assert joined.entered_ns.tolist() == [102, 202, 103]
    assert joined.left_ns.tolist() == [103, 203, 104]
    assert joined.writing_ns.tolist() == [104, 204, 204]


def test_without_a_known_port_the_only_exchange_in_the_window_counts() -> None:
    exchange = {"kind": EXCHANGE, "flags": HTTP, "port": 50}
    made = records(
        {**exchange, "read": 101, "writing": 104},
        {**exchange, "port": 52, "read": 202, "writing": 204},
        {**exchange, "port": 53, "read": 203, "writing": 204},
    )
    joined = join(made, calls((1, 100, 105, 0), (2, 200, 205, 0)))
    assert joined.read_ns.tolist() == [101, 0]
    assert joined.ambiguous == 1


def test_two_records_of_one_id_in_one_window_are_given_up_and_counted() -> None:
    row = {"kind": CALL, "id": 7}
    joined = join(records({**row, **path(100)}, {**row, **path(101)}), calls((7, 90, 200, 0)))
    assert joined.read_ns.tolist() == [0]
    assert joined.ambiguous == 1


def test_an_id_used_again_later_is_told_apart_by_time() -> None:
    row = {"kind": CALL, "id": 7}
    made = records({**row, **path(100)}, {**row, **path(200)})
    joined = join(made, calls((7, 200, 210, 0), (7, 100, 110, 0)))
    assert joined.read_ns.tolist() == [201, 101]


def test_stamps_that_contradict_the_call_are_given_up_and_counted() -> None:
    late = {**path(100), "writing": 120}
    turned = {**path(200), "left": 201}
    made = records({"kind": CALL, "id": 1, **late}, {"kind": CALL, "id": 2, **turned})
    joined = join(made, calls((1, 100, 110, 0), (2, 200, 210, 0)))
    assert joined.read_ns.tolist() == [0, 0]
    assert joined.left_ns.tolist() == [0, 0]
    assert joined.disordered == 2


def test_an_exchange_that_names_another_call_is_never_taken() -> None:
    made = records({"kind": CALL, "flags": HTTP, "port": 50, "id": 9, **path(100)})
    joined = join(made, calls((1, 100, 110, 50)))
    assert joined.read_ns.tolist() == [0]
    assert joined.disordered == 1


def test_open_requests_and_string_ids_are_no_calls() -> None:
    made = records(
        {"kind": OPEN, "id": 1, "read": 101}, {"kind": CALL, "flags": 1, "id": 2, **path(200)}
    )
    joined = join(made, calls((1, 100, 110, 0), (2, 200, 210, 0)))
    assert joined.read_ns.tolist() == [0, 0]


def test_a_handler_of_the_sdk_is_not_the_authors_function() -> None:
    around, author = 64, 64 | 2
    made = records(
        {"kind": CALL, "flags": around, "id": 1, **path(100)},
        {"kind": CALL, "flags": author, "id": 2, **path(200)},
    )
    joined = join(made, calls((1, 100, 110, 0), (2, 200, 210, 0)))
    assert joined.exact.tolist() == [False, True]


def test_nothing_joins_nothing() -> None:
    assert join(records(), calls()).read_ns.tolist() == []
    assert join(records(), calls((1, 1, 2, 0))).read_ns.tolist() == [0]
    assert join(records({"kind": CALL, "id": 1, **path(1)}), calls()).read_ns.tolist() == []


def test_a_hundred_thousand_calls_in_any_order_find_their_own() -> None:
    count = 100_000
    order = np.random.default_rng(1).permutation(count)
    made = np.zeros(count, RECORD)
    made["kind"], made["id"] = CALL, order
    for offset, name in enumerate(("read", "entered", "left", "writing"), 1):
        made[name] = order * 10 + offset
    ids = np.arange(count, dtype=np.int64)
    joined = join(made, Calls(ids, ids * 10, ids * 10 + 9, np.zeros(count, np.int64)))
    assert (joined.read_ns == ids * 10 + 1).all()
    assert (joined.writing_ns == ids * 10 + 4).all()

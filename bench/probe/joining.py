"""Which record of the server belongs to which call: by id, over HTTP by port and time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CALL, CALL_ALONE, EXCHANGE, OPEN = 1, 2, 3, 4
STRING_ID, AUTHOR, HTTP, POST, TOOL_CALL, SDK_HANDLER = 1, 2, 4, 8, 32, 64

Times = NDArray[np.int64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

NONE, MANY = -1, -2  # no record fits; more than one does


@dataclass(frozen=True, slots=True)
class Calls:
    """Requests as the client saw them: aligned columns, times in ns of CLOCK_MONOTONIC.

    `port` is the client's local TCP port, 0 where there is none or it is not known.
    """

    id: Times
    sent_ns: Times
    received_ns: Times
    port: Times


@dataclass(frozen=True, slots=True)
class Joined:
    """The server's stamps aligned to the calls, 0 = missing, and how many were given up.

    `exact`: entered and left bracket the author's own function, not a handler of the SDK's.
    `ambiguous`: more than one record fits. `disordered`: the stamps contradict the call's own.
    """

    read_ns: Times
    entered_ns: Times
    left_ns: Times
    writing_ns: Times
    exact: Mask
    ambiguous: int
    disordered: int


def join(records: NDArray[np.void], calls: Calls) -> Joined:
    """Pair records with calls. What is not certain is missing, never guessed.

    stdio: the record with the call's id, read inside [sent, received]. HTTP/1.1 has one request at
    a time on a connection: the exchange on the call's port, read inside the same window; a tool
    call recorded apart from its exchange (Node) is found by its id.
    """
    records = records[(records["kind"] != OPEN) & ((records["flags"] & STRING_ID) == 0)]
    wire, alone = _wire(records, calls), _alone(records, calls)
    padded = np.concatenate([records, np.zeros(1, records.dtype)])  # the last one: no record
    first = padded[np.maximum(wire, NONE)]
    first[wire == MANY] = padded[-1]
    second = padded[np.maximum(alone, NONE)]
    second[alone == MANY] = padded[-1]
    whole = first["kind"] == CALL
    handled = np.where(whole, first, second)
    stamps = np.stack([first["read"], handled["entered"], handled["left"], first["writing"]])
    bad = _disordered(stamps, calls) | (whole & (first["id"] != calls.id))
    stamps[:, bad] = 0
    own = ((handled["flags"] & AUTHOR) > 0) | ((handled["flags"] & SDK_HANDLER) == 0)
    read, entered, left, writing = stamps
    return Joined(
        read_ns=read,
        entered_ns=entered,
        left_ns=left,
        writing_ns=writing,
        exact=(entered > 0) & own,
        ambiguous=int(((wire == MANY) | ((alone == MANY) & ~whole)).sum()),
        disordered=int(bad.sum()),
    )


def _wire(records: NDArray[np.void], calls: Calls) -> Indices:
    """Index of each call's record with read and writing: stdio by id, HTTP by port."""
    over_http = (records["flags"] & HTTP) > 0
    whole = records["kind"] == CALL
    stdio = np.flatnonzero(whole & ~over_http)
    http = np.flatnonzero((whole | (records["kind"] == EXCHANGE)) & over_http)
    by_id = _nested(stdio, records["id"], records["read"], calls, calls.id)
    by_port = _nested(http, records["port"].astype(np.int64), records["read"], calls, calls.port)
    nameless = calls.port == 0
    anywhere = _nested(http, np.zeros(len(records), np.int64), records["read"], calls, calls.port)
    by_port = np.where(nameless, anywhere, by_port)
    return np.where(by_id == NONE, by_port, by_id)


def _alone(records: NDArray[np.void], calls: Calls) -> Indices:
    """Index of each call's record with entered and left only, by id."""
    rows = np.flatnonzero(records["kind"] == CALL_ALONE)
    return _nested(rows, records["id"], records["entered"], calls, calls.id)


def _nested(
    rows: Indices, record_keys: Times, record_times: Times, calls: Calls, call_keys: Times
) -> Indices:
    """The one row with the call's key and a time inside [sent, received]; else NONE or MANY.

    One sort of records and window edges by (key, time); counting records below each edge gives
    every call the range of its candidates.
    """
    if not len(rows) or not len(call_keys):
        return np.full(len(call_keys), NONE, np.int64)
    keys, times = record_keys[rows], record_times[rows]
    rows = rows[np.lexsort((times, keys))]
    count, size = len(call_keys), len(rows)
    edge = np.repeat(np.array([1, 0, 2]), [size, count, count])  # sent sorts before, received after
    order = np.lexsort(
        (
            edge,
            np.concatenate([times, calls.sent_ns, calls.received_ns]),
            np.concatenate([keys, call_keys, call_keys]),
        )
    )
    below = np.empty(len(order), np.int64)
    below[order] = np.cumsum(edge[order] == 1)
    low, high = below[size : size + count], below[size + count :]
    found = np.where(high - low == 1, rows[np.minimum(low, size - 1)], MANY)
    return np.where(high <= low, NONE, found)


def _disordered(stamps: Times, calls: Calls) -> Mask:
    """Calls whose present stamps are not in the order of the path."""
    latest = calls.sent_ns.copy()
    bad = np.zeros(len(latest), np.bool_)
    for stamp in (*stamps, calls.received_ns):
        present = stamp > 0
        bad |= present & (stamp < latest)
        latest = np.where(present, np.maximum(stamp, latest), latest)
    return bad

"""What the reference runs show, in tables and sentences, every number from their summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from bench.model import ERAS
from bench.units import milliseconds
from tests import pages
from tests.pages import TOP

REFERENCE = TOP / "results" / "reference"
PAGE = REFERENCE / "README.md"
DESKS = ("tickets-lowlevel", "tickets-python", "tickets-fastmcp", "tickets-ts1", "tickets-ts2")
SDKS: Mapping[str, str] = {
    "tickets-lowlevel": "Python SDK 2, low-level",
    "tickets-python": "Python SDK 2",
    "tickets-fastmcp": "FastMCP 4",
    "tickets-ts1": "TypeScript SDK 1",
    "tickets-ts2": "TypeScript SDK 2",
}
STEPS = ("100 B, after 1 MB", "100 B", "1 kB", "10 kB", "100 kB", "1 MB")
WEIGHED = ("100 B", "1 MB", "100 B, after 1 MB")
TOOLS = ("1", "10", "100", "1000")
CLIENTS = ("wire", "sdk", "sdk-auto")
NONE = "·"
DELAYED_ACK_NS = 38_000_000


@cache
def rows(run: str) -> pd.DataFrame:
    """The summary of a run as it is committed."""
    return pd.read_parquet(REFERENCE / run / "summary.parquet")


def ns(run: str, segment: str, step: str | None = None, **cell: str) -> int | None:
    """The median of a segment of the one cell that is so; None where there is none."""
    found = rows(run)
    found = found[found["segment"] == segment]
    if "step" in found:
        found = found[found["step"].isna() if step is None else found["step"] == step]
    for key, value in cell.items():
        found = found[found[key] == value]
    if len(found) > 1:
        raise ValueError(f"{run}: {segment} of {cell}: {len(found)} cells")
    return (
        int(found["p50_ns"].iloc[0]) if len(found) and pd.notna(found["p50_ns"].iloc[0]) else None
    )


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Rows in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def desks() -> str:
    """One row an SDK: the same tool on the same tickets, each cell's median call, and its setup."""
    forms = (
        {"transport": "stdio", "era": "stateful"},
        {"transport": "stdio", "era": "stateless"},
        {"transport": "http", "era": "stateful", "response": "sse"},
        {"transport": "http", "era": "stateful", "response": "json"},
        {"transport": "http", "era": "stateless", "response": "sse"},
        {"transport": "http", "era": "stateless", "response": "json"},
    )
    head = [
        "call, ms",
        *(
            " ".join(form[key] for key in ("transport", "era", "response") if key in form)
            for form in forms
        ),
    ]
    head += ["work, stdio", "setup, stdio"]
    lines = []
    for server in DESKS:
        calls = [_ms(_first("sdks", "call", server=server, **form)) for form in forms]
        stdio = {"server": server, "transport": "stdio", "era": "stateful"}
        lines.append(
            (
                SDKS[server],
                *calls,
                _ms(ns("sdks", "work", **stdio)),
                _ms(ns("sdks", "setup", **stdio)),
            )
        )
    return table(head, lines)


def servers() -> str:
    """One row a cell of the servers that others wrote."""
    found = rows("servers")
    lines = []
    for cell in dict.fromkeys(found["cell"]):
        mine = found[found["cell"] == cell]
        known = {row.segment: row for row in mine.itertuples()}
        call = known["call"]
        lines.append(
            (
                cell.partition("/")[2],
                *(_ms(_p50(known.get(name))) for name in ("setup", "call", "work", "boundary")),
                NONE if pd.isna(call.p99_ns) else milliseconds(int(call.p99_ns)),
                NONE if pd.isna(call.work_source) else str(call.work_source),
            )
        )
    return table(("cell", "setup", "call", "work", "boundary", "call p99", "known by"), lines)


def payload() -> str:
    """One row an SDK and transport: the median call by the weight of its answer, stateful."""
    return _swept("payload", "call", "step", STEPS, "answer of")


def catalogue(segment: str) -> str:
    """One row an SDK and transport: the median of a segment by the number of tools, stateful."""
    return _swept("catalogue", segment, "catalogue", TOOLS, "tools")


def clients() -> str:
    """One row a cell as asked for: the same call as ready bytes, and through the official client.

    As it comes, that client chooses the era itself.
    """
    lines = []
    for transport in ("stdio", "http"):
        for era in ERAS:
            calls = [_through(name, transport, era) for name in CLIENTS]
            lines.append((f"{transport} {era}", *map(_ms, calls)))
    return table(("call", "ready bytes", "SDK client, lean", "SDK client, as it comes"), lines)


def _through(client: str, transport: str, era: str) -> int | None:
    cell = f"tickets/tickets-python/{transport}/{era}/client={client}"
    return ns("clients", "call", cell=cell)


def _swept(run: str, segment: str, key: str, values: Sequence[str], words: str) -> str:
    lines = []
    for server in DESKS:
        for transport in ("stdio", "http"):
            cell = {"server": server, "transport": transport, "era": "stateful"}
            found = [ns(run, segment, **{**cell, key: value}) for value in values]
            lines.append((f"{SDKS[server]}, {transport}", *map(_ms, found)))
    return table((words, *values), lines)


def _first(run: str, segment: str, **cell: str) -> int | None:
    """Of cells that turned out to be the same on the wire, the first."""
    try:
        return ns(run, segment, **cell)
    except ValueError:
        found = rows(run)
        for key, value in (cell | {"segment": segment}).items():
            found = found[found[key] == value]
        return int(found["p50_ns"].iloc[0])


def _p50(row: Any) -> int | None:
    return None if row is None or pd.isna(row.p50_ns) else int(row.p50_ns)


def _ms(value_ns: int | None) -> str:
    return NONE if value_ns is None else milliseconds(value_ns)


def starts() -> str:
    """How much of a stdio setup is the loading of the server's code."""
    stdio: Mapping[str, str] = {"transport": "stdio", "era": "stateful"}
    shares = {name: _share("sdks", "imports", "setup", server=name, **stdio) for name in DESKS}
    low, high = min(shares.values()), max(shares.values())
    mcp = [
        sum(ns("sdks", part, server=name, **stdio) or 0 for part in ("initialize", "initialized"))
        for name in DESKS
    ]
    shakes = f"{milliseconds(min(mcp))} to {milliseconds(max(mcp))}"
    return (
        f"**A slow start is not MCP.** Of a setup over stdio {low:.0%} to {high:.0%} is the "
        f"loading of the server's code, on every SDK; the handshake itself takes {shakes}."
    )


def streams() -> str:
    """What of stateful against stateless over HTTP is the event stream."""
    http: Mapping[str, str] = {"server": "tickets-python", "transport": "http"}
    sse = _known("sdks", "call", **http, era="stateful", response="sse", session="kept")
    json = _known("sdks", "call", **http, era="stateful", response="json", session="kept")
    stateless = _first("sdks", "call", **http, era="stateless", response="json")
    assert stateless is not None
    gain = f"{1 - stateless / sse:.0%}"
    return (
        f"**Stateless is {gain} faster over HTTP, and most of that is the event stream.** On the "
        f"Python SDK a call takes {milliseconds(sse)} with a handshake (answered as SSE, its "
        f"default) and {milliseconds(stateless)} without (answered as JSON). Answered as JSON, the "
        f"one with a handshake takes {milliseconds(json)}."
    )


def tools() -> str:
    """How much of a call is the tool, and how much the same tool costs on each SDK."""
    stdio: Mapping[str, str] = {"transport": "stdio", "era": "stateful"}
    calls = {name: _known("sdks", "call", server=name, **stdio) for name in DESKS}
    least, most = min(calls, key=calls.__getitem__), max(calls, key=calls.__getitem__)
    shares = [_share("sdks", "work", "call", server=name, **stdio) for name in DESKS]
    ends = [f"{milliseconds(calls[name])} ({SDKS[name]})" for name in (least, most)]
    return (
        f"**More than half of a call can be the SDK.** The same search in the same database takes "
        f"{' to '.join(ends)} over stdio; the tool's own function is {min(shares):.0%} to "
        f"{max(shares):.0%} of that."
    )


def pauses() -> str:
    """A server that writes a reply in two pieces, and what the same server takes elsewhere."""
    biomcp: Mapping[str, str] = {"server": "biomcp"}
    slow = _known("servers", "call", **biomcp, transport="http", era="stateful")
    fast = _known("servers", "call", **biomcp, transport="http", era="stateless")
    assert slow > DELAYED_ACK_NS > fast
    return (
        f"**The 40 ms pause is out there.** One server in Rust answers over HTTP in "
        f"{milliseconds(fast)} without a handshake and in {milliseconds(slow)} with one: each call "
        f"waits for an acknowledgement that is held back, as happens when a reply is sent in two "
        f"small pieces. The report names it."
    )


def clients_add() -> str:
    """What the official client adds to a call of ready bytes."""
    cells = [(transport, era) for transport in ("stdio", "http") for era in ERAS]
    ratios = [(_through("sdk", *cell) or 0) / (_through("wire", *cell) or 1) for cell in cells]
    stateful = rows("clients").query("transport == 'http' and client == 'sdk'")
    assert set(stateful["connection"][stateful["era"] == "stateful"]) == {"per-call"}
    return (
        f"**The client can cost more than the server.** Through the official Python client, pinned "
        f"to the era and lean, the same call takes {min(ratios):.1f} to {max(ratios):.1f} times as "
        f"long as the exchange of ready bytes. Over HTTP with a handshake it opens a connection "
        f"for nearly every call: it closes the event stream before its end."
    )


def weights() -> str:
    """What tools that are never called cost, and what a long answer does."""
    stdio: Mapping[str, str] = {"server": "tickets-python", "transport": "stdio"}
    starts = [_known("catalogue", "setup", **stdio, catalogue=count) for count in ("1", "1000")]
    short, long, next_ = (milliseconds(_known("payload", "call", s, **stdio)) for s in WEIGHED)
    start, later = map(milliseconds, starts)
    http: Mapping[str, str] = {"server": "tickets-ts2", "transport": "http"}
    few, many = (
        milliseconds(_known("catalogue", "call", **http, catalogue=count))
        for count in ("1", "1000")
    )
    return (
        f"**A thousand tools cost at the start, a million letters at each call.** On the Python "
        f"SDK a stdio setup takes {start} with one tool and {later} with a thousand; a call takes "
        f"{short} with an answer of 100 letters, {long} with one of a million, and the short one "
        f"right after that {next_}. Where the SDK makes a server for each request (TypeScript SDK "
        f"2 over HTTP), a thousand tools cost at each call too: {few} to {many}."
    )


def _share(run: str, part: str, whole: str, **cell: str) -> float:
    return _known(run, part, **cell) / _known(run, whole, **cell)


def _known(run: str, segment: str, step: str | None = None, **cell: str) -> int:
    found = ns(run, segment, step, **cell)
    assert found is not None, (run, segment, cell)
    return found


def surprising() -> list[str]:
    """What the README begins with."""
    return [starts(), streams(), pauses()]


def sentences() -> list[str]:
    """What is worth knowing before any table."""
    return [*surprising(), tools(), clients_add(), weights()]


def bullets(sentences: Sequence[str]) -> str:
    """Sentences as a list."""
    return "\n".join(f"- {each}" for each in sentences)


def parts() -> dict[str, str]:
    """What stands between each pair of marks."""
    return {
        "findings": bullets(sentences()),
        "desks": desks(),
        "servers": servers(),
        "clients": clients(),
        "payload": payload(),
        "setup by tools": catalogue("setup"),
        "call by tools": catalogue("call"),
    }


if __name__ == "__main__":
    PAGE.write_text(pages.filled(PAGE.read_text("utf-8"), parts()), "utf-8")

"""The tables and sentences of a report, the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.bars import ledger_grids
from bench.report.clients import client_grids
from bench.report.figures import Grid, Page, interval, percent, percents, shown
from bench.report.spreads import spread_grids
from bench.report.steps import step_grids
from bench.units import NONE, milliseconds

SETUP_ROWS = (
    "first_reply",
    "interpreter",
    "imports",
    "serving",
    "connect",
    "tls",
    "initialize",
    "discover",
    "initialized",
    "tools_list",
    "listen",
    "client",
    "setup",
)
BESIDE_ROWS = ("boot", "first_call", "first_result", "teardown")
CELLS_ABREAST = 4
SHOWN_PAGES = 8
SHOWS = 0.05  # of a sum, from which on a reader would ask
PARTS = SETUP_ROWS[:-1]


def page(document: Mapping[str, Any]) -> Page:
    """The whole report of a run."""
    return Page(
        headline(document),
        tuple(grids(document)),
        tuple(findings(document)),
        tuple(warnings(document)),
    )


def grids(document: Mapping[str, Any]) -> Iterator[Grid]:
    """The tables of a report, in order: setups, calls, clients, ledgers, comparisons."""
    cells = document["cells"]
    names = labels([cell["cell"] for cell in cells])
    for at in range(0, len(cells), CELLS_ABREAST):
        yield _setup_grid(cells[at : at + CELLS_ABREAST], names)
    yield _call_grid(cells, names)
    yield from step_grids(cells, names)
    yield from client_grids(cells, names)
    yield from ledger_grids(cells, names)
    yield from spread_grids(document["spreads"], names)
    yield from comparison_grids(document["comparisons"], names)


def labels(cells: Sequence[str]) -> dict[str, str]:
    """Each cell's name without the parts that all cells share; a single one keeps its last two."""
    parts = {cell: cell.split("/") for cell in cells}
    if len(parts) == 1:
        return {cell: shown("/".join(split[-2:])) for cell, split in parts.items()}
    shared = set.intersection(*(set(split) for split in parts.values())) if parts else set()
    return {
        cell: shown("/".join(part for part in split if part not in shared))
        for cell, split in parts.items()
    }


def headline(document: Mapping[str, Any]) -> str:
    """One line that says what ran, where, and whether it got to its end."""
    host = document["host"]
    where = f"{host.get('cpu', 'unknown processor')}, {host.get('cores', '?')} cores"
    placed = document["cells"][0]["placement"] if document["cells"] else {"client": []}
    if placed["client"]:
        client, server = (",".join(map(str, placed[side])) for side in ("client", "server"))
        where += f", client on {client}, server on {server}"
    else:
        where += ", not pinned"
    status = document["status"]
    end = "" if status == "complete" else f" · {status.upper()}: what was measured is shown"
    return f"{shown(document['run'])} · {where} · Python {host.get('python', '?')}{end}"


def findings(document: Mapping[str, Any]) -> Iterator[str]:
    """Patterns that were recognised, cell by cell."""
    names = labels([cell["cell"] for cell in document["cells"]])
    for cell in document["cells"]:
        yield from (f"{names[cell['cell']]}: {shown(each)}" for each in cell["findings"])


def warnings(document: Mapping[str, Any]) -> Iterator[str]:
    """All doubts of the run and its cells."""
    yield from (shown(each) for each in document["warnings"])
    names = labels([cell["cell"] for cell in document["cells"]])
    for cell in document["cells"]:
        yield from (f"{names[cell['cell']]}: {shown(each)}" for each in cell["warnings"])


def break_even(comparison: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    """After how many calls the dearer setup has paid for itself, or that it never does."""
    cheaper = comparison["cheaper"]
    if cheaper is None:
        return None
    both = (comparison["base"], comparison["head"])
    other = names[both[0] if cheaper == both[1] else both[1]]
    calls = comparison["break_even_calls"]
    if calls is None:
        return f"{names[cheaper]} is cheaper from the first call on; {other} never pays off"
    return (
        f"{names[cheaper]} costs more to set up and less to call than {other}: "
        f"paid for after {calls:,} calls"
    )


def _setup_grid(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Grid:
    """Phases down, cells across; the sum and what stands beside it come last."""
    rows = [
        (f"{ROW_MARKS.get(name, '  ')}{name}", *(_median(cell, name) for cell in cells))
        for name in (*SETUP_ROWS, *BESIDE_ROWS)
        if any(name in cell["segments"] for cell in cells)
    ]
    head = ("", *(names[cell["cell"]] for cell in cells))
    paged = [line for cell in cells if (line := _paged(cell, names))]
    title = "Setup, once a connection (medians over launches)"
    notes = [*_given_up(cells, names), *_apart(cells), *paged]
    return Grid(title, head, rows, notes)


def _apart(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Medians of parts need not sum to the median of the whole; said where it shows."""
    for cell in cells:
        found = cell["segments"]
        parts = [found[name]["p50_ns"] for name in PARTS if name in found]
        if "setup" not in found or None in (*parts, found["setup"]["p50_ns"]):
            continue
        if abs(sum(parts) / found["setup"]["p50_ns"] - 1) > SHOWS:
            return ["= is a median too: launches differ, so the parts need not sum to it"]
    return []


def _paged(cell: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    """How many pages the tool list had, and the time of each, where it had more than one."""
    pages = cell["wire"]["tool_page_ns"]
    if len(pages) < 2:
        return None
    times = ", ".join(milliseconds(took_ns) for took_ns in pages[:SHOWN_PAGES])
    rest = ", …" if len(pages) > SHOWN_PAGES else ""
    tools = cell["wire"]["tools"]
    return f"{names[cell['cell']]}: {tools:,} tools on {len(pages)} pages: {times}{rest}"


ROW_MARKS = {"setup": "= ", **dict.fromkeys(BESIDE_ROWS, "| ")}


def _call_grid(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Grid:
    rows = [(names[cell["cell"]], *_call_row(cell)) for cell in cells]
    head = ("", "p50", "95 % interval", "p90", "p99", "max", "calls", "form", "version")
    needy = [wants for cell in cells if (wants := _wants(cell))]
    notes = (
        [f"p99 takes {max(needy)} calls in a cell; try: more --calls, or --launches"]
        if needy
        else []
    )
    return Grid("Call, once it is set up", head, rows, notes)


def _call_row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    found = cell["segments"].get("call", {})
    ok = cell["outcomes"]["ok"]
    ended = cell["outcomes"].get("cancelled", 0)
    asked = f"{cell['calls']:,}" + (f", {ended:,} cancelled" if ended else "")
    counted = f"{ok:,}" if ok == cell["calls"] else f"{ok:,} ok of {asked}"
    return (
        milliseconds(found.get("p50_ns")),
        interval(found.get("low_ns"), found.get("high_ns")),
        milliseconds(found.get("p90_ns")),
        milliseconds(found.get("p99_ns")),
        milliseconds(found.get("max_ns")),
        counted,
        cell["variant"]["response"],
        shown(cell["protocol_version"] or NONE),
    )


def _wants(cell: Mapping[str, Any]) -> int:
    found = cell["segments"].get("call")
    return found["wants"] if found and found["p99_ns"] is None else 0


def comparison_grids(
    comparisons: Sequence[Mapping[str, Any]], names: Mapping[str, str]
) -> Iterator[Grid]:
    """One table for each two values of an axis."""
    places = labels([each["where"] for each in comparisons])
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for each in comparisons:
        groups.setdefault((each["axis"], *each["values"]), []).append(each)
    for (_, base, head), group in groups.items():
        rows = [
            (
                places[each["where"]],
                each["segment"],
                NONE if each["ratio"] is None else percent(each["ratio"]),
                percents(each["low"], each["high"]),
                each["verdict"],
                ", ".join(each["also_differs"]) or NONE,
            )
            for each in group
        ]
        columns = ("", "segment", shown(head), "95 % interval", "verdict", "differs too")
        notes = [line for each in group if (line := break_even(each, names))]
        title = f"{shown(head)} against {shown(base)}, launch by launch"
        yield Grid(title, columns, rows, [*notes, *_too_few(group)])


def _too_few(group: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why nothing could be told, where the launches were too few for any verdict."""
    wanted = max(each["rounds_wanted"] for each in group)
    rounds = min(each["rounds"] for each in group)
    if rounds >= wanted:
        return []
    return [
        f"too few launches ({rounds}) for a verdict on so many figures; try: --launches {wanted}"
    ]


def _median(cell: Mapping[str, Any], name: str) -> str:
    """Of launches that were given up is known only that it would have been longer."""
    found = cell["segments"].get(name, {})
    over_ns = found.get("over_ns", {}).get("p50")
    return milliseconds(found.get("p50_ns")) if over_ns is None else f"> {milliseconds(over_ns)}"


def _given_up(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    """How many launches reached a limit, and in which phase."""
    return [
        f"{names[cell['cell']]}: {found['censored']} of {found['n']} launches given up in {name} "
        f"after {milliseconds(found['over_ns']['max'])}; they rank as longer than all others"
        for cell in cells
        for name, found in cell["segments"].items()
        if found.get("censored") and name in (*SETUP_ROWS[:-1], "boot")
    ]

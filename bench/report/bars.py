"""The typical call and setup of each cell drawn as one line of segments, and said in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.figures import Grid, Picture
from bench.units import milliseconds

CALL_GLYPHS: Mapping[str, str] = {
    "deliver": "›",
    "dispatch": "░",
    "work": "█",
    "encode": "▒",
    "return": "‹",
    "boundary": "·",
    "think": "~",
}
SETUP_GLYPHS: Mapping[str, str] = {
    "first_reply": "░",
    "interpreter": "·",
    "imports": "▒",
    "serving": "▓",
    "connect": "›",
    "tls": "»",
    "initialize": "█",
    "discover": "█",
    "initialized": "▌",
    "tools_list": "▞",
    "listen": "◌",
    "client": "‹",
}
BAR_LETTERS = 48
REPORTED_BY: Mapping[str, str] = {
    "span": "and what else the server's span covers",
    "header": "as the server's header says",
}


def ledger_grids(cells: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Grid]:
    """Calls and setups as one line of segments each, in proportion."""
    known = [cell for cell in cells if cell["ledger"]["call"]]
    if known:
        rows = [(names[cell["cell"]], *_ledger_row(cell)) for cell in known]
        used = {part for cell in known for part in cell["ledger"]["call"]}
        glyphs = {part: glyph for part, glyph in CALL_GLYPHS.items() if part in used}
        head = ("", "call", "", "work", "boundary", "known by")
        said = [f"{names[cell['cell']]}: {sentence(cell)}" for cell in known]
        yield Grid(
            "Where a call goes (the typical one; its parts add up)",
            head,
            rows,
            [legend(glyphs), *said, *_of_steps(known)],
            _picture(glyphs),
        )
    started = [cell for cell in cells if cell["ledger"]["setup"]]
    if started:
        used = {part for cell in started for part in cell["ledger"]["setup"]}
        glyphs = {part: glyph for part, glyph in SETUP_GLYPHS.items() if part in used}
        rows = [
            (
                names[cell["cell"]],
                milliseconds(cell["ledger"]["setup"]["setup"]),
                bar(cell["ledger"]["setup"], glyphs),
            )
            for cell in started
        ]
        yield Grid(
            "Where a setup goes",
            ("", "setup", ""),
            rows,
            [legend(glyphs)],
            _picture(glyphs),
        )


def _of_steps(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Whose calls these are, where a scenario asks several things."""
    if all(len(cell["steps"]) < 2 for cell in cells):
        return []
    return ["of the steps whose inside is known, all together; each step by itself is above"]


def _picture(glyphs: Mapping[str, str]) -> Picture:
    """The segment of each letter; the first one where two share a letter."""
    return Picture(2, {glyph: part for part, glyph in reversed(list(glyphs.items()))})


def _ledger_row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    parts = cell["ledger"]["call"]
    work = parts.get("work", 0)
    return (
        milliseconds(parts["call"]),
        bar(parts, CALL_GLYPHS),
        f"{milliseconds(work)} {work / parts['call']:.0%}",
        f"{milliseconds(parts['call'] - work)} {1 - work / parts['call']:.0%}",
        cell["work_source"],
    )


def sentence(cell: Mapping[str, Any]) -> str:
    """What the ledger of a call says, in words."""
    parts = cell["ledger"]["call"]
    if "boundary" in parts and cell["work_source"] in REPORTED_BY:
        return (
            f"of {milliseconds(parts['call'])} a call, {milliseconds(parts['work'])} is the tool "
            f"{REPORTED_BY[cell['work_source']]}, {milliseconds(parts['boundary'])} all the rest"
        )
    if "boundary" in parts:
        return (
            f"of {milliseconds(parts['call'])} a call, about {milliseconds(parts['work'])} is the "
            f"tool: an estimate, {milliseconds(parts['boundary'])} being what the cheapest "
            "request takes here"
        )
    sdk = parts.get("dispatch", 0) + parts.get("encode", 0)
    way = parts.get("deliver", 0) + parts.get("return", 0)
    client = "" if cell["variant"].get("client") == "wire" else ", the client's SDK included"
    return (
        f"of {milliseconds(parts['call'])} a call, {milliseconds(parts.get('work', 0))} is the "
        f"tool, {milliseconds(sdk)} the SDK around it, {milliseconds(way)} the way there and back"
        f"{client}"
    )


def bar(parts: Mapping[str, int], glyphs: Mapping[str, str], *, width: int = BAR_LETTERS) -> str:
    """The parts as one line of `width` letters in proportion, by largest remainder."""
    present = {part: value for part, value in parts.items() if part in glyphs and value > 0}
    total = sum(present.values())
    exact = {part: width * value / total for part, value in present.items()}
    letters = {part: int(share) for part, share in exact.items()}
    rest = sorted(exact, key=lambda part: letters[part] - exact[part])
    for part in rest[: width - sum(letters.values())]:
        letters[part] += 1
    return "".join(glyphs[part] * letters[part] for part in glyphs if part in letters)


def legend(glyphs: Mapping[str, str]) -> str:
    """`› deliver  ░ dispatch …`."""
    return "  ".join(f"{glyph} {part}" for part, glyph in glyphs.items())

"""A run as one HTML page that fetches nothing, to look at, to send and to print."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from bench.report import again, wording
from bench.report.colours import CELL_COLOURS, COLOURS, VERDICT_COLOURS
from bench.report.figures import Grid, Page, harmless, shown
from bench.report.html import ledgers, ratios, sequences, spreads
from bench.sessions import Session

BLACK = "#000000"  # no colour of its own: it is that of the words, so that it is seen in the dark


def _plain(value: object) -> object:
    """Every text that is put in, without characters that turn or hide what stands beside them."""
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("bench.report.html", "."),
    autoescape=True,
    finalize=_plain,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Told(NamedTuple):
    """A run as it is told: its summary, its run.json, the first session of each cell, a verdict."""

    document: Mapping[str, Any]
    meta: Mapping[str, Any]
    sessions: Sequence[Session] = ()
    decided: Page | None = None


def render(told: Told) -> str:
    """The whole page. What a server has worded is text in it, whatever it looks like."""
    document = told.document
    names = wording.labels([cell["cell"] for cell in document["cells"]])
    places = wording.labels([each["where"] for each in document["comparisons"]])
    compared = list(wording.comparison_grids(document["comparisons"], names))
    style, script = _style(), _file("page.js")
    return PAGES.get_template("page.html").render(
        document=document,
        headline=wording.headline(document),
        findings=list(wording.findings(document)),
        warnings=list(wording.warnings(document)),
        figures=[each for each in _figures(document) if each not in compared],
        compared=compared,
        decided=told.decided,
        calls=ledgers.ledgers(document, "call", names),
        setups=ledgers.ledgers(document, "setup", names),
        spreads=spreads.spreads(document, names),
        ratios=ratios.ratios(document, places),
        sessions=[(names[each.cell], each, sequences.rows(each)) for each in told.sessions],
        diagrams=[sequences.diagram(each, names[each.cell]) for each in told.sessions],
        facts=list(_facts({**document["host"], "limits": told.meta.get("limits", {})})),
        command="" if told.decided else again.command(told.meta),
        needed=again.needed(told.meta),
        colours=len(CELL_COLOURS),
        slug=_slug,
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def _figures(document: Mapping[str, Any]) -> list[Grid]:
    """The tables without those that are pictures made of letters; here they are drawn."""
    return [grid for grid in wording.grids(document) if grid.picture is None]


def _facts(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of nested facts, one line each."""
    for key, value in values.items():
        name = f"{above} {key}".strip()
        if isinstance(value, Mapping):
            yield from _facts(value, name)
        else:
            yield shown(name.replace("_", " ")), shown(value)


def _style() -> Markup:
    """The style sheet, with the colours that all pictures share."""
    rules = [f".{_slug(name)}{{--own:{_seen(each)}}}" for name, each in COLOURS.items()]
    rules += [f".cell-{at}{{--own:{_seen(each)}}}" for at, each in enumerate(CELL_COLOURS)]
    rules += [f".is-{_slug(name)}{{--own:{each}}}" for name, each in VERDICT_COLOURS.items()]
    return _file("page.css") + Markup("\n".join(rules))


def _seen(colour: str) -> str:
    return "var(--ink)" if colour == BLACK else colour


def _slug(name: str) -> str:
    return name.replace(" ", "-").replace("_", "-")


def _file(name: str) -> Markup:
    """One of our own files; it is part of the program, not of the run."""
    assert PAGES.loader is not None
    return Markup(PAGES.loader.get_source(PAGES, name)[0])


def _policy(style: str, script: str) -> str:
    """Nothing may be fetched, and no style or script may run but these two, known by their hash."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

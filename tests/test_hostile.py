"""Nothing a server says is obeyed: not by the terminal, not in Markdown, not by a picture."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import bench
from bench import measure, plots, report, store, summary
from bench.errors import COULD_NOT, FINE, INVALID
from bench.model import Cell, Message, Turn
from bench.output import json_text
from bench.report import FORMATS, health, html, listing, progress, startup, terminal, trace
from bench.tracefile import Traced
from tests.outside import Program, module, toml
from tests.servers.hostile import LONG, MARKUP, SEQUENCES, TURNED, WORDS
from tests.story import CountingClock, Responder, run_in_memory

mpl.use("Agg")
COSTS_NS = {"initialize": 3_000_000, "tools/call": 250_000, "ping": 1_000}
RUN_REPORTS = {form.__module__.rpartition(".")[2] for form in FORMATS.values()}
LONGEST_LINE = 12_000


def _obeyed(text: str) -> list[str]:
    """Characters that a terminal acts upon, or that turn or hide text."""
    kinds = {letter: unicodedata.category(letter) for letter in set(text) - {"\n"}}
    return [letter for letter, kind in kinds.items() if kind[0] == "C" or kind in ("Zl", "Zp")]


def _assert_harmless(text: str) -> None:
    assert _obeyed(text) == []
    assert max(map(len, text.split("\n"))) <= LONGEST_LINE


def _assert_harmless_markdown(text: str) -> None:
    """No tag, and no cell boundary, that we have not written."""
    _assert_harmless(text)
    assert "<" not in text
    for line in text.splitlines():
        bare = re.sub(r"\\.", "", line)
        if not bare.startswith("|"):
            assert "|" not in bare
            bare = re.sub(r"^\*\*(.*)\*\*$", r"\1", bare)
        assert not set(bare) & set("`*_[]"), bare


def _widths(text: str) -> set[int]:
    """The numbers of columns that the rows of its tables have."""
    rows = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    return {row.count("|") for row in rows if set(row) <= set("|-: ")} or {0}


def _poisoned(value: Any, words: str) -> Any:
    """The document with these words behind every text in it."""
    if isinstance(value, dict):
        return {key: _poisoned(each, words) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_poisoned(each, words) for each in value]
    return f"{value}{words}" if isinstance(value, str) else value


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What a run with everything in it says: findings, warnings, ledgers, comparisons."""
    path = tmp_path_factory.mktemp("run")
    clock = CountingClock()
    run_in_memory(path, Responder(clock, COSTS_NS), clock, launches=7, calls=30)
    found = summary.document(store.read(path))
    for cell in found["cells"]:
        cell["warnings"] = ["doubted"]
        cell["findings"] = ["found"]
        cell["variant"]["client"] = "sdk"
    assert found["comparisons"]
    return found


@pytest.mark.parametrize("words", [WORDS, LONG], ids=["words", "long"])
@pytest.mark.parametrize("form", FORMATS)
def test_no_text_of_a_run_is_obeyed_in_any_format(
    form: str, words: str, document: Mapping[str, Any]
) -> None:
    text = FORMATS[form](_poisoned(document, words))
    _assert_harmless(text)
    assert "gnp.exe" in text
    if form == "markdown":
        _assert_harmless_markdown(text)
        assert _widths(text) == _widths(FORMATS[form](document))
    if form != "terminal":
        assert "</script><img" not in text


def test_colour_is_our_own(document: Mapping[str, Any]) -> None:
    text = terminal.render(_poisoned(document, WORDS), colour=True)
    assert "\x1b[" in text
    _assert_harmless(re.sub(r"\x1b\[[0-9;]*m", "", text))


def _traced() -> list[Message]:
    return [
        Message(
            at_ns=number,
            direction="out" if number % 2 else "in",
            kind=("request", "response", "notification", "noise")[number % 4],
            bytes=1,
            method=LONG,
            id=LONG,
            body=LONG,
        )
        for number in range(8)
    ]


def _audited(words: str) -> Mapping[str, Any]:
    row = {"server": "a", "alone_ns": 1, "together_ns": 1, "failed": 1, "error": "b"}
    wait = {"alone_ns": 1, "together_ns": 1}
    return _poisoned({"format": 1, "servers": [row], "wait": wait, "slowest": "a"}, words)  # type: ignore[no-any-return]


def _examined(words: str) -> Mapping[str, Any]:
    check = {"name": "clock", "ok": False, "value": "x", "advice": "y"}
    floor = {"transport": "stdio", "placement": "x", "p50_ns": 1, "p90_ns": 1, "spread": 0.1}
    return _poisoned({"checks": [check], "floors": [floor]}, words)  # type: ignore[no-any-return]


def _progress(words: str) -> str:
    target = io.StringIO()
    console = Console(file=target, width=1_000, force_terminal=True)
    with progress.bar(console) as bar:
        cell = Cell(name=words, scenario="", server="", transport="stdio", era="stateful")
        bar.launching(Turn(cell=cell, launch=0, round=0), 0, 1)
        bar.called(1)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", target.getvalue())  # what a bar redraws with


SHOWN: Mapping[str, Callable[[], str]] = {
    "trace": lambda: trace.render(Traced(_traced(), LONG)),
    "startup": lambda: startup.render(_audited(LONG)),
    "listing": lambda: listing.render(_poisoned(measure.known(), LONG)),
    "health": lambda: health.render(_examined(LONG)),
    "progress": lambda: _progress(LONG),
}


@pytest.mark.parametrize("name", SHOWN)
def test_no_text_beside_runs_is_obeyed(name: str) -> None:
    text = SHOWN[name]()
    _assert_harmless(text)
    assert "gnp.exe" in text


def test_every_report_is_among_those_shown_here() -> None:
    """A report that is new has to be put to one of the two tests above."""
    found = {
        each.name
        for each in pkgutil.iter_modules(report.__path__)
        if {"render", "watcher"} & set(vars(importlib.import_module(f"bench.report.{each.name}")))
    }
    assert found == {*SHOWN, *RUN_REPORTS, "html"}


@pytest.mark.parametrize("words", [WORDS, LONG], ids=["words", "long"])
def test_no_text_of_a_run_is_obeyed_in_a_page(words: str, document: Mapping[str, Any]) -> None:
    text = html.render(html.Told(_poisoned(document, words), {}))
    _assert_harmless(text)
    assert "gnp.exe" in text
    assert "</script><img" not in text


def _rename(run: Path, part: str, words: str) -> None:
    """Give one of its cells a name with these words in the place of a part of it."""
    meta = json.loads((run / store.RUN_FILE).read_text("utf-8"))
    for cell in meta["cells"]:
        cell["cell"] = cell["cell"].replace(part, words)
    (run / store.RUN_FILE).write_text(json.dumps(meta), "utf-8")
    for name in store.TABLES:
        table = pq.read_table(run / f"{name}.parquet")
        cells = pc.replace_substring(table["cell"], part, words)
        place = table.schema.get_field_index("cell")
        store.write_table(table.set_column(place, "cell", cells), run / f"{name}.parquet")


@pytest.mark.parametrize("draw", [plots.setup, plots.breakdown, plots.break_even])
def test_a_name_is_no_formula_in_a_picture(draw: Callable[..., Any], tmp_path: Path) -> None:
    clock = CountingClock()
    run_in_memory(tmp_path, Responder(clock, COSTS_NS), clock)
    _rename(tmp_path, "stateless", "$\\frac$gnp.exe" + LONG.replace("/", ""))
    ax = draw(bench.load(tmp_path))
    assert isinstance(ax.figure, Figure)
    ax.figure.canvas.draw()
    texts = [*ax.get_yticklabels(), *(ax.get_legend().get_texts() if ax.get_legend() else ())]
    assert any("gnp.exe" in text.get_text() for text in texts)
    plt.close("all")


def test_json_stays_json_and_a_terminal_may_show_it() -> None:
    words = {"name": WORDS + "\ud800"}
    text = json_text(words)
    assert json.loads(text) == words
    assert text.isascii()
    _assert_harmless(text)


@pytest.mark.parametrize(
    ("fails", "code"),
    [
        ("never", FINE),
        ("initialize", COULD_NOT),
        ("tools/list", COULD_NOT),
        ("tools/call", INVALID),
        ("dies", INVALID),
    ],
)
def test_a_run_of_a_hostile_server_says_nothing_that_is_obeyed(
    program: Program, fails: str, code: int
) -> None:
    program.recipe("hostile", about=json.dumps(WORDS), stdio=toml(module("hostile", fails)))
    program.scenario("small", 'servers = ["hostile"]\n[[call]]\ntool = "echo"\n')
    said = program("run", "small", "--json", "--era", "stateful", "-r", "2", "-n", "3", "-w", "0")
    assert said.code == code, said.err
    folder = str(program.results())
    for words in (
        ("report", folder),
        ("report", folder, "--format", "markdown"),
        ("report", folder, "--json"),
        ("trace", folder),
        ("trace", folder, "--json"),
        ("list",),
        ("trace", "--full", "--", *module("hostile", fails)),
        ("run", "--tool", WORDS[:200], "--", *module("hostile", fails)),
    ):
        shown = program(*words)
        _assert_harmless(shown.err)
        assert _obeyed(shown.out) == []
        assert "\nTraceback" not in shown.err
        if "--json" in words:
            json.loads(shown.out)
        if "markdown" in words:
            _assert_harmless_markdown(shown.out)
    _assert_harmless(said.err)
    assert _obeyed(said.out) == []


def test_the_audit_of_a_hostile_list_says_nothing_that_is_obeyed(program: Program) -> None:
    command, *args = module("hostile", "tools/list")
    entry = {"command": command, "args": args, "env": {"PYTHONPATH": str(Path.cwd())}}
    file = program.folder / "desktop.json"
    file.write_text(json.dumps({"mcpServers": {WORDS: entry}}), "utf-8")
    said = program("run", "--config", str(file), "-r", "1")
    assert said.code == COULD_NOT, said.err
    _assert_harmless(said.out)
    _assert_harmless(said.err)
    assert "gnp.exe" in said.out


def test_the_words_are_hostile() -> None:
    """Each of them is one that the tests above look for."""
    assert len(_obeyed(SEQUENCES)) == 5
    assert len(_obeyed(TURNED)) == 4
    assert "</script>" in MARKUP

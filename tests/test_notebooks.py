"""The notebooks: in step with their text, played on the oldest and newest pandas, on odd runs."""

from __future__ import annotations

import ast
import base64
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jupytext
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.artist import Artist
from matplotlib.text import Text
from nbformat import NotebookNode

from bench import store
from tests import notebooks
from tests.notebooks import FOLDER, NAMES
from tests.pages import TOP
from tests.probe import lab
from tests.story import CountingClock, Responder, run_in_memory

MS = 1_000_000
COSTS_NS = {"initialize": 3 * MS, "server/discover": 2 * MS, "tools/list": MS, "tools/call": MS}
SMALLEST_PICTURE = 5_000  # bytes
LOGIC = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.Lambda, ast.comprehension)
OF_A_RUN = tuple(name for name in NAMES if "\nRUN = " in (FOLDER / f"{name}.py").read_text("utf-8"))
FEW = {"your_own_server": {"SIZE": '["-r", "2", "-n", "3", "-w", "0", "--pin", "none"]'}}


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_with_its_pictures_and_in_step_with_its_text(name: str) -> None:
    kept = jupytext.read(FOLDER / f"{name}.ipynb")
    text = notebooks.read(name)
    sources = [(cell.cell_type, cell.source) for cell in text.cells]
    assert [(c.cell_type, c.source) for c in kept.cells] == sources, "try: make notebooks"
    assert kept.metadata["jupytext"]["formats"] == "ipynb,py:percent"
    outputs = [output for cell in kept.cells for output in cell.get("outputs", ())]
    assert not [each for each in outputs if each.output_type == "error"]
    pictures = [each.data["image/png"] for each in outputs if "image/png" in each.get("data", {})]
    assert pictures
    assert min(len(base64.b64decode(each)) for each in pictures) > SMALLEST_PICTURE
    dumped = json.dumps(kept)
    assert not [place for place in ("/root/", "/home/", "/Users/", f"{TOP}/") if place in dumped]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_one_question_and_no_logic(name: str) -> None:
    book = notebooks.read(name)
    assert book.cells[0].source.startswith("# ")
    assert "?" in book.cells[0].source.splitlines()[0] or name == "your_own_server"
    for cell in book.cells:
        if cell.cell_type == "code":
            found = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, LOGIC)]
            assert not found, cell.source


@pytest.fixture(scope="module")
def playing() -> Iterator[Mapping[tuple[str, str], Future[NotebookNode]]]:
    """Every notebook on the newest and on the oldest pandas, two kernels at a time."""
    pythons = {"newest": sys.executable, "oldest": str(lab.python("oldest"))}
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            (name, pandas): pool.submit(
                notebooks.played, notebooks.read(name, FEW.get(name)), python
            )
            for name in NAMES
            for pandas, python in pythons.items()
        }


@pytest.mark.parametrize("pandas", ["newest", "oldest"])
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_plays_to_its_end_without_a_deprecation(
    playing: Mapping[tuple[str, str], Future[NotebookNode]], name: str, pandas: str
) -> None:
    assert playing[name, pandas].result().cells


def test_the_oldest_pandas_is_the_one_that_is_promised() -> None:
    command = (str(lab.python("oldest")), "-c", "import pandas; print(pandas.__version__)")
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    promised = (TOP / "pyproject.toml").read_text("utf-8")
    oldest = found if sys.version_info < (3, 14) else "2.2.3"  # which has no wheel for 3.14
    assert f'"pandas>={oldest},' in promised


def test_a_deprecation_ends_a_notebook() -> None:
    book = jupytext.reads("# %%\nimport warnings\nwarnings.warn('x', FutureWarning)", "py:percent")
    with pytest.raises(Exception, match="FutureWarning"):
        notebooks.played(book)


class Alternating(Responder):
    """Every tenth call takes 45 times as long."""

    def __call__(self, body: bytes) -> Iterable[bytes]:
        slow = json.loads(body)["method"] == "tools/call" and self.calls % 10 == 9
        self._costs_ns = {**COSTS_NS, "tools/call": 45 * MS if slow else MS}
        return super().__call__(body)


def _empty(path: Path) -> None:
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    error = {"error": {"code": -32603, "message": "no"}}
    respond.answers.update({"initialize": error, "server/discover": error})
    run_in_memory(path, respond, clock)


def _torn(path: Path) -> None:
    clock = CountingClock()
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr(store.Writer, "close", lambda *_, **__: None)
        run_in_memory(path, Responder(clock, COSTS_NS), clock)
    last = max(path.glob("calls-*.arrow"))
    with last.open("r+b") as file:
        file.truncate(last.stat().st_size - 40)
    assert store.read(path).torn


def _one_cell(path: Path) -> None:
    clock = CountingClock()
    run_in_memory(path, Responder(clock, COSTS_NS), clock, eras=("stateful",), launches=1)


def _two_modes(path: Path) -> None:
    clock = CountingClock()
    run_in_memory(path, Alternating(clock, COSTS_NS), clock, launches=8, calls=40)


@pytest.mark.parametrize(
    "make", [_empty, _torn, _one_cell, _two_modes], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("name", OF_A_RUN)
def test_an_odd_run_breaks_no_notebook(
    name: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "run")
    monkeypatch.chdir(FOLDER)
    mpl.use("Agg")
    known: dict[str, Any] = {}
    for cell in notebooks.read(name, {"RUN": repr(str(tmp_path / "run"))}).cells:
        if cell.cell_type == "code":
            exec(cell.source, known)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    texts = [each for figure in figures for each in figure.findobj(match=_is_text)]
    said = [each.get_text() for each in texts if isinstance(each, Text)]
    for figure in figures:
        figure.canvas.draw()
    plt.close("all")
    assert said
    assert not [words for words in said if "nan" in words.lower().split()]


def _is_text(artist: Artist) -> bool:
    return isinstance(artist, Text)

"""The README and the docs say what is so: commands run, examples are read, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from bench.scenario import read_recipe, read_scenario
from tests import docs, readme
from tests.outside import listening
from tests.pages import TOP
from tests.readme import README

MADE_ELSEWHERE = ("make run", "make check")
FEW = ("-r", "1", "-n", "2", "-w", "0")
PAGES = [README, *docs.all_pages()]
COMMANDS = dict.fromkeys(line for page in PAGES for line in readme.commands(page))
RUNS = sorted(path.parent for path in docs.REFERENCE.glob("*/run.json"))


@pytest.mark.parametrize("page", docs.all_pages(), ids=lambda page: str(page.name))
def test_a_page_has_what_the_program_says_now(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == docs.written(text), "make it anew: python -m tests.docs"
    known = {name for name, _ in docs.parts()}
    assert set(re.findall(r"<!-- ([^/].*?) -->", text)) <= known


@pytest.mark.parametrize("name", docs.TABLES)
def test_every_key_has_a_meaning_and_nothing_else_has(name: str) -> None:
    known = {field.name for field in msgspec.structs.fields(docs.TABLES[name])}
    assert set(docs.MEANINGS[name]) == known
    where = "recipes.md" if name in ("recipe", "http", "needs") else "scenarios.md"
    text = (docs.FOLDER / where).read_text("utf-8")
    assert not [key for key in known if f"| `{key}` |" not in text]


def test_its_scenarios_and_recipes_are_read() -> None:
    first, asking = docs.examples("scenarios.md", "toml")
    assert len(read_scenario(first, name="mine", file="mine.toml").call) == 3
    assert read_scenario(asking, name="asking", file="asking.toml").answer[0].think_s == 0.01
    (recipe,) = docs.examples("recipes.md", "toml")
    assert read_recipe(recipe, name="mine", file="recipe.toml", folder=".").transports


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in MADE_ELSEWHERE])
def test_every_command_runs(line: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(docs.examples("scenarios.md", "toml")[0], "utf-8")
    with listening("trivial_http") as server:
        text = line.replace("http://127.0.0.1:8000", server.base).replace("mine.toml", str(mine))
        text = text.replace("python my_server.py", f"{sys.executable} -m tests.servers.trivial")
        program, *words = shlex.split(text)
        assert program == "mcp-latency"
        if words[0] == "run":
            words[1:1] = [*FEW, "--out", str(tmp_path)]
        command = [sys.executable, "-m", "bench", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_a_link_to_a_file_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


def test_the_index_has_every_page() -> None:
    index = (docs.FOLDER / "README.md").read_text("utf-8")
    assert not [
        page.name
        for page in docs.all_pages()
        if page.name != "README.md" and f"({page.name})" not in index
    ]


def test_every_segment_that_a_report_names_is_explained() -> None:
    text = (docs.FOLDER / "ledger.md").read_text("utf-8")
    summaries = (pd.read_parquet(run / "summary.parquet") for run in RUNS)
    named = {name for summary in summaries for name in summary["segment"]}
    assert not [name for name in sorted(named) if f"`{name}`" not in text]

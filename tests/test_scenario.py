"""Scenario and recipe files: what they say, and the words for what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.scenario import read_recipe, read_scenario

GOOD = """\
about = "x"
servers = ["tickets-python"]
transport = ["stdio", "http"]
launches = 10
calls = 100
[[call]]
tool = "search_tickets"
arguments = {query = "refund", limit = 3}
"""


def test_a_scenario_says_what_is_asked() -> None:
    read = read_scenario(GOOD, name="tickets", file="tickets.toml")
    assert read.servers == ("tickets-python",)
    assert read.call[0].arguments == {"query": "refund", "limit": 3}
    assert (read.launches, read.calls, read.warmup) == (10, 100, 5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("launches =", "launchs ="), r'tickets.toml:4: unknown key "launchs".*"launches"'),
        (("tool =", "tol ="), r'tickets.toml:7: unknown key "tol".*"tool"'),
        (("launches = 10", 'launches = "many"'), r"launches: Expected `int`"),
        (("calls = 100", "calls = 0"), "calls must be at least 1"),
        (('"stdio", "http"', '"stdio", "htpp"'), "htpp"),
        (("[[call]]", "[[call]"), r"tickets.toml: .*line 6"),
        (("about =", 'response = ["jsn"]\nabout ='), r'response "jsn".*"json"'),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(change: tuple[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_scenario(GOOD.replace(*change), name="tickets", file="tickets.toml")


def test_a_scenario_without_a_call_asks_nothing() -> None:
    with pytest.raises(UsageError, match="call"):
        read_scenario('servers = ["x"]\ncall = []\n', name="x", file="x.toml")


def test_a_recipe_needs_a_way_to_start() -> None:
    with pytest.raises(UsageError, match="neither stdio nor http"):
        read_recipe('about = "x"', name="x", file="recipe.toml", folder="f")


def test_an_unknown_key_inside_a_table_is_named_too() -> None:
    text = 'stdio = ["x"]\n[http]\nurl = "http://127.0.0.1/"\ncomand = ["x"]\n'
    with pytest.raises(UsageError, match=r'recipe.toml:4: unknown key "comand".*"command"'):
        read_recipe(text, name="x", file="recipe.toml", folder="f")


@pytest.mark.parametrize("path", sorted(Path("scenarios").glob("*.toml")), ids=lambda p: p.stem)
def test_every_scenario_here_can_be_read(path: Path) -> None:
    assert read_scenario(path.read_text("utf-8"), name=path.stem, file=str(path)).about

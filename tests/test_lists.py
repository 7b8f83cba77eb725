"""Tool lists: their pages, their order over launches, their cache hints; and errors by channel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import cache
from bench.cache import Hint, Kept, Shelf
from bench.errors import FINE, INVALID
from tests.outside import Program, module, toml

HOUR = {"ttlMs": 3_600_000, "cacheScope": "public"}


@pytest.mark.parametrize("era", ["stateful", "stateless"])
def test_a_list_of_several_pages_is_read_counted_and_timed(program: Program, era: str) -> None:
    said = program("run", "--json", "-r", "2", "-n", "3", "--era", era, "--tool", "echo", "--",
                   *module("pages"))  # fmt: skip
    wire = said.cell["wire"]
    assert (wire["tools"], wire["tool_pages"], len(wire["tool_page_ns"])) == (25, 3, 3)
    assert all(took_ns > 0 for took_ns in wire["tool_page_ns"])
    assert wire["setup_requests"] == 1 + 3
    shown = program("report", str(program.results()))
    assert "25 tools on 3 pages: " in shown.out
    traced = program("trace", str(program.results()))
    assert "The server lists 25 tools on 3 pages" in traced.out


def test_pages_do_not_disturb_parity(program: Program) -> None:
    said = program("trace", "--era", "stateful", "--tool", "echo", "--", *module("pages"))
    assert "11 in its steps, odd, as a handshake session must be" in said.out
    assert "the list may be kept for 60000 ms (public)" in said.out


def test_hints_are_kept_with_the_cell(program: Program) -> None:
    said = program("run", "--json", "-r", "1", "-n", "2", "--era", "stateless", "--tool", "echo",
                   "--", *module("pages"))  # fmt: skip
    hint = {"ttlMs": 60_000, "cacheScope": "public"}
    assert said.cell["cache_hints"] == {"server/discover": hint, "tools/list": hint}


@pytest.mark.parametrize(("honour", "saved", "lists"), [("true", 8, 1), ("false", 0, 3)])
def test_a_scenario_that_honours_hints_asks_once_and_shows_what_it_saved(
    program: Program, honour: str, saved: int, lists: int
) -> None:
    program.recipe("paged", stdio=toml(module("pages")))
    program.scenario(
        "s", f'servers = ["paged"]\nhonour_cache = {honour}\n[[call]]\ntool = "echo"\n'
    )
    said = program("run", "s", "--json", "-r", "3", "-n", "3", "--era", "stateless")
    assert said.verdict == FINE, said.err
    assert said.cell["wire"]["requests_saved"] == saved
    rows = said.run.message_table.to_pylist()
    asked = [row for row in rows if row["method"] == "tools/list"]
    assert len({row["launch"] for row in asked}) == lists
    assert said.cell["outcomes"]["ok"] == 9
    assert not [each for each in said.cell["warnings"] if "negative" in each]
    assert said.cell["segments"]["setup"]["n"] == 3


def test_an_order_that_differs_between_launches_is_a_warning(program: Program) -> None:
    file = str(program.folder / "pages.launches")
    said = program("run", "--json", "-r", "3", "-n", "2", "--era", "stateful", "--tool", "echo",
                   "--", *module("pages", file))  # fmt: skip
    (told,) = [each for each in said.cell["warnings"] if "order of the tools" in each]
    assert "3 orders in 3 launches" in told
    steady = program("run", "--json", "-r", "3", "-n", "2", "--era", "stateful", "--tool", "echo",
                     "--", *module("pages"))  # fmt: skip
    assert not [each for each in steady.cell["warnings"] if "order of the tools" in each]


def test_the_two_error_channels_are_told_apart_in_figures_and_report(program: Program) -> None:
    program.recipe("r", stdio=toml(module("refuses_calls")))
    calls = '[[call]]\ntool = "echo"\n[[call]]\ntool = "fail"\n'
    program.scenario("s", f'servers = ["r"]\n{calls}')
    said = program("run", "s", "--json", "-r", "1", "-n", "4", "-w", "0", "--era", "stateful")
    assert said.code == INVALID
    assert said.cell["errors"] == {"-32602": 3}
    assert said.cell["outcomes"]["protocol_error"] == 2
    assert said.cell["outcomes"]["tool_error"] == 2
    (told,) = [each for each in said.cell["warnings"] if "calls failed" in each]
    assert "2 tool_error: isError, said by the tool to the model" in told
    assert (
        "3 protocol_error: refused before any tool, said to the client's code, 3 x -32602" in told
    )


@given(st.dictionaries(st.sampled_from(["ttlMs", "cacheScope"]), st.from_type(object)))
def test_a_hint_that_is_none_lets_nothing_be_kept(result: dict[str, object]) -> None:
    hint = cache.hint_of(result)
    ttl_ms = result.get("ttlMs")
    valid = isinstance(ttl_ms, int) and not isinstance(ttl_ms, bool) and ttl_ms >= 0
    assert (hint is not None) == valid


def test_a_list_is_as_fresh_as_its_shortest_lived_page() -> None:
    pages = [Hint(500, "public"), Hint(200, "public"), Hint(900, "private")]
    assert cache.least(pages) == Hint(200, "private")
    assert cache.least([*pages, None]) is None
    assert cache.least([]) is None


@pytest.mark.parametrize(("now_ns", "there"), [(1_999_999, True), (2_000_000, False)])
def test_an_answer_holds_until_its_time_is_over(now_ns: int, there: bool) -> None:
    shelf = Shelf()
    shelf.keep("tools/list", Kept(Hint(1, "public"), 1_000_000, "answer", 1))
    assert (shelf.look("tools/list", now_ns) is not None) == there
    assert shelf.look("prompts/list", now_ns) is None


def test_a_time_of_nothing_is_never_fresh() -> None:
    shelf = Shelf()
    shelf.keep("tools/list", Kept(Hint(0, None), 5, "answer", 1))
    assert shelf.look("tools/list", 5) is None

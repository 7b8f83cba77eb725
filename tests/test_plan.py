"""Cells, and the order in which they are launched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.model import HttpRecipe, Scenario, Server, Step
from bench.plan import cells, turns

HTTP = HttpRecipe(url="http://127.0.0.1:{port}/mcp", command=("serve",))
BOTH = Server(name="both", stdio=("serve",), http=HTTP)
PIPED = Server(name="piped", stdio=("serve",), eras=("stateful",))
ASK = Scenario(name="ask", call=(Step(tool="null"),))


def test_a_scenario_on_a_server_of_both_gives_four_cells() -> None:
    assert [cell.name for cell in cells(ASK, [BOTH])] == [
        "ask/both/stdio/stateful",
        "ask/both/stdio/stateless",
        "ask/both/http/stateful",
        "ask/both/http/stateless",
    ]


def test_a_server_is_measured_only_as_it_can_be() -> None:
    assert [cell.name for cell in cells(ASK, [PIPED])] == ["ask/piped/stdio/stateful"]


def test_a_variant_multiplies_only_the_cells_it_means_something_in() -> None:
    varied = Scenario(
        name="ask",
        call=ASK.call,
        variants={"response": ("json", "sse"), "session": ("kept",)},
    )
    assert [cell.name for cell in cells(varied, [BOTH])] == [
        "ask/both/stdio/stateful",
        "ask/both/stdio/stateless",
        "ask/both/http/stateful/response=json",
        "ask/both/http/stateful/response=sse",
        "ask/both/http/stateless/response=json",
        "ask/both/http/stateless/response=sse",
    ]
    assert dict(cells(varied, [BOTH])[2].variant) == {"response": "json", "session": "kept"}


def test_an_axis_of_numbers_gives_a_server_its_option_on_each_transport() -> None:
    varied = Scenario(name="ask", call=ASK.call, variants={"catalogue": ("1", "100")})
    server = Server(
        name="both",
        stdio=("serve",),
        http=HttpRecipe(url=HTTP.url, command=HTTP.command, options={"json": ("--json",)}),
        options={"catalogue": ("--tools", "{catalogue}")},
    )
    found = cells(varied, [server])
    assert [cell.name.rpartition("/")[2] for cell in found] == ["catalogue=1", "catalogue=100"] * 4
    variant = {**found[1].variant, "response": "json"}
    assert server.arguments("stdio", variant) == ("--tools", "100")
    assert server.arguments("http", variant) == ("--json", "--tools", "100")


def test_a_server_without_that_option_is_not_measured_as_if_it_had_it() -> None:
    varied = Scenario(name="ask", call=ASK.call, variants={"catalogue": ("1",)})
    with pytest.raises(UsageError, match="both has no option for catalogue"):
        cells(varied, [BOTH])


def test_nothing_to_measure_is_an_error_that_says_what_there_is() -> None:
    asked = Scenario(name="ask", call=ASK.call, era=("stateless",))
    with pytest.raises(UsageError, match="piped has transport stdio with era stateful"):
        cells(asked, [PIPED])


@given(st.integers(1, 9), st.integers())
def test_every_round_launches_every_cell_once(launches: int, seed: int) -> None:
    made = cells(ASK, [BOTH])
    order = turns(made, launches=dict.fromkeys((c.name for c in made), launches), seed=seed)
    assert [turn.launch for turn in order] == list(range(4 * launches))
    for number in range(launches):
        ran = [turn.cell.name for turn in order if turn.round == number]
        assert sorted(ran) == sorted(cell.name for cell in made)
    assert [turn.round for turn in order] == sorted(turn.round for turn in order)


def test_the_order_is_shuffled_and_the_seed_gives_it_again() -> None:
    made = cells(ASK, [BOTH])
    many = dict.fromkeys((cell.name for cell in made), 20)
    first = [turn.cell.name for turn in turns(made, launches=many, seed=7)]
    assert first == [turn.cell.name for turn in turns(made, launches=many, seed=7)]
    assert first != [turn.cell.name for turn in turns(made, launches=many, seed=8)]
    assert len({tuple(first[at : at + 4]) for at in range(0, 80, 4)}) > 1


def test_cells_of_fewer_launches_drop_out_of_later_rounds() -> None:
    made = cells(ASK, [BOTH])
    launches = {cell.name: 1 + number for number, cell in enumerate(made)}
    order = turns(made, launches=launches, seed=1)
    assert len([turn for turn in order if turn.round == 3]) == 1

"""Whatever a server sends: every call ends, nothing is lost, and no error is not our own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz.properties import PROPERTIES, prove

EXAMPLES = 2_000


@pytest.mark.parametrize("name", PROPERTIES)
def test_whatever_a_server_sends(name: str) -> None:
    prove(
        name,
        settings(
            max_examples=PROPERTIES[name].checked,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def test_the_gate_tries_two_thousand_examples() -> None:
    assert sum(each.checked for each in PROPERTIES.values()) == EXAMPLES

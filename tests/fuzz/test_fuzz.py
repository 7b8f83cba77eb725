"""Whatever a server sends: every call ends, nothing is lost, and no error is not our own."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz import played
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


def test_a_connection_is_closed_that_comes_as_the_playing_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        async with played.listening([]) as url:
            port = int(url.rpartition(":")[2].partition("/")[0])
            with socket.create_connection(("127.0.0.1", port)):
                await asyncio.sleep(0)

    unclosed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unclosed.append)
    for _ in range(20):
        asyncio.run(main())
    gc.collect()
    assert unclosed == []

"""The command that a report gives to measure again asks for the same cells, launches and calls."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from bench import store
from bench.report import again
from bench.variants import OPTIONS
from tests.outside import Program, module
from tests.test_narrow import REFERENCE


def test_a_known_scenario_is_asked_for_by_its_name() -> None:
    words = shlex.split(again.command(store.read(REFERENCE).meta))
    assert words[:3] == ["mcp-latency", "run", "tickets"]
    asked = dict(zip(words[3::2], words[4::2], strict=True))
    assert asked == {
        "--launches": "20",
        "--calls": "100",
        "--warmup": "5",
        "--transport": "stdio,http",
        "--era": "stateful,stateless",
        "--pin": "0:1",
        "--seed": "1",
    }


def test_a_run_made_again_by_its_own_command_is_the_same_run(program: Program) -> None:
    target = ("--", *module("trivial"))
    first = program(
        "run", "-r", "2", "-n", "3", "-w", "1", "--pin", "none", "--seed", "7", "--json", *target
    )
    again_words = shlex.split(again.command(first.run.meta))
    assert again_words[0] == "mcp-latency"
    at = again_words.index("--")
    second = program(*again_words[1:at], "--json", *again_words[at:])
    ours, theirs = ({**each.run.meta, "host": {}} for each in (first, second))
    assert ours == theirs
    assert sys.executable in again_words


def test_every_option_that_makes_cells_is_asked_for_again() -> None:
    meta = store.read(REFERENCE).meta
    for axis in OPTIONS:
        varied = [{**cell, "variant": {**cell["variant"], axis: "x"}} for cell in meta["cells"]]
        assert f" --{axis} x " in again.command({**meta, "cells": varied}), axis


def test_what_a_run_never_keeps_is_named_where_it_is_needed() -> None:
    server = {"name": "own", "env": ["HOME_TOKEN"], "headers": ["Authorization"], "http": None}
    assert again.needed({"servers": [server]}) == [
        "own: variables HOME_TOKEN",
        "own: headers Authorization (--header)",
    ]


def test_a_run_that_says_nothing_of_what_was_asked_has_no_command(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "cells": []}), "utf-8")
    assert again.command({"format": 1, "cells": []}) == ""

"""The README says what is so: its commands run, its map and its figures are the program's own."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import readme
from tests.outside import listening

MADE_ELSEWHERE = ("make run", "make check")
FEW = ("-r", "1", "-n", "2", "-w", "0")


def test_its_map_is_the_first_line_of_every_module_and_its_report_that_of_the_reference() -> None:
    text = readme.README.read_text("utf-8")
    assert text == readme.written(text), "make it anew: python -m tests.readme"


def test_its_picture_is_there() -> None:
    assert "](docs/tickets.png)" in readme.README.read_text("utf-8")
    assert (readme.TOP / "docs" / "tickets.png").stat().st_size > 10_000


@pytest.mark.parametrize("line", [c for c in readme.commands() if c not in MADE_ELSEWHERE])
def test_every_command_in_it_runs(line: str, tmp_path: Path) -> None:
    with listening("trivial_http") as server:
        text = line.replace("http://127.0.0.1:8000", server.base)
        text = text.replace("python my_server.py", f"{sys.executable} -m tests.servers.trivial")
        program, *words = shlex.split(text)
        assert program == "mcp-latency"
        if words[0] == "run":
            words[1:1] = [*FEW, "--out", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "bench", *words], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout

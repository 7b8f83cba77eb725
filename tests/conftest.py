"""What tests of the whole program begin with."""

from pathlib import Path

import pytest

from tests.outside import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program, in an empty folder."""
    return Program(tmp_path)

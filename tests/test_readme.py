"""The README says what is so: its map and its figures are the program's own."""

from __future__ import annotations

from tests import readme
from tests.pages import TOP


def test_its_map_is_the_first_line_of_every_module_and_its_report_that_of_the_reference() -> None:
    text = readme.README.read_text("utf-8")
    assert text == readme.written(text), "make it anew: python -m tests.readme"


def test_its_picture_is_there() -> None:
    assert (TOP / "docs" / "tickets.png").stat().st_size > 10_000

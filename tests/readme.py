"""The parts of the README that come from the program; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import store, summary
from bench.report import terminal
from tests import findings, pages
from tests.pages import TOP

README = TOP / "README.md"
REFERENCE = TOP / "results" / "reference" / "tickets"
SHOWN_COLUMNS = 132
MOST_ROWS = 20


def module_map() -> str:
    """One row a module: its first line is its purpose."""
    rows = ["| module | purpose |", "|---|---|"]
    rows += [f"| `{name}` | {purpose} |" for name, purpose in _purposes()]
    return "\n".join(rows)


def report() -> str:
    """The report of the reference run, as the terminal shows it."""
    document = summary.document(store.read(REFERENCE))
    text = terminal.render(document, width=SHOWN_COLUMNS)
    return "```text\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```"


def trust() -> str:
    """What the programs under `tests/perf` said, kept as they printed it with `--json`.

    A program of many rows is summed up by the first word of their names.
    """
    lines = ["| what | measured | target | by |", "|---|---|---|---|"]
    for path in sorted((TOP / "results" / "reference").glob("*.json")):
        rows = json.loads(path.read_text("utf-8"))["rows"]
        command = f"`python tests/perf/{path.stem}.py`"
        told = map(row, rows) if len(rows) <= MOST_ROWS else _summed(rows)
        lines += [f"| {words} | {command} |" for words in told]
    return "\n".join(lines)


def row(row: Mapping[str, Any]) -> str:
    """What was measured, its value and its target, as cells of a table."""
    value = "not here" if row["value"] is None else f"{row['value']:.4g}"
    mark = "" if row["ok"] else " (missed)"
    return f"{row['name']} | {value}{mark} | {row['target']:g}"


def _summed(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for first in dict.fromkeys(row["name"].split()[0] for row in rows):
        mine = [row for row in rows if row["name"].split()[0] == first]
        kept = sum(row["ok"] for row in mine)
        missed = "; ".join(
            f"missed: {row['name']} {row['value']:.4g} of {row['target']:g}"
            for row in mine
            if not row["ok"] and row["value"] is not None
        )
        words = f"{kept} ({missed})" if missed else str(kept)
        yield f"{first}: figures that keep to their target | {words} | {len(mine)}"


def parts() -> dict[str, str]:
    """What stands between each pair of marks."""
    return {
        "findings": findings.bullets(findings.surprising()),
        "map": module_map(),
        "report": report(),
        "trust": trust(),
    }


def written(text: str) -> str:
    """The README with every part made anew."""
    return pages.filled(text, parts())


def commands(page: Path = README) -> Iterator[str]:
    """The lines of every shell block of a page."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S):
        yield from (line for line in block.splitlines() if line.strip())


def _purposes() -> Iterator[tuple[str, str]]:
    house = TOP / "bench"
    for path in sorted(house.rglob("*.py"), key=lambda path: (len(path.parts), str(path))):
        place = path.relative_to(TOP)
        purpose = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        assert purpose is not None, path
        name = place.parent if path.name == "__init__.py" else place
        yield str(name), purpose.splitlines()[0]


if __name__ == "__main__":
    README.write_text(written(README.read_text("utf-8")), "utf-8")

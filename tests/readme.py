"""The parts of the README that come from the program; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from bench import store, summary
from bench.report import terminal

TOP = Path(__file__).parent.parent
README = TOP / "README.md"
REFERENCE = TOP / "results" / "reference" / "tickets"
SHOWN_COLUMNS = 132


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
    """What the programs under `tests/perf` said, kept as they printed it with `--json`."""
    rows = ["| what | measured | target | by |", "|---|---|---|---|"]
    for path in sorted((TOP / "results" / "reference").glob("*.json")):
        for row in json.loads(path.read_text("utf-8"))["rows"]:
            value = "not here" if row["value"] is None else f"{row['value']:.4g}"
            mark = "" if row["ok"] else " (missed)"
            command = f"`python tests/perf/{path.stem}.py`"
            rows.append(f"| {row['name']} | {value}{mark} | {row['target']:g} | {command} |")
    return "\n".join(rows)


def parts() -> dict[str, str]:
    """What stands between each pair of marks."""
    return {"map": module_map(), "report": report(), "trust": trust()}


def written(text: str) -> str:
    """The README with every part made anew."""
    for name, part in parts().items():
        marked = f"<!-- {name} -->\n{part}\n<!-- /{name} -->"
        text = re.sub(f"<!-- {name} -->.*?<!-- /{name} -->", lambda _: marked, text, flags=re.S)  # noqa: B023
    return text


def commands() -> Iterator[str]:
    """The lines of every shell block."""
    for block in re.findall(r"```sh\n(.*?)```", README.read_text("utf-8"), re.S):
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

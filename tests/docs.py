"""The parts of `docs/` that come from the program; `python -m tests.docs` writes them anew."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from bench import segments
from bench.model import TRANSPORTS, HttpRecipe, Needs, Scripted, Step
from bench.scenario import RecipeFile, ScenarioFile
from bench.variants import VARIANTS
from tests import pages, readme
from tests.pages import TOP

FOLDER = TOP / "docs"
REFERENCE = TOP / "results" / "reference"
TABLES: Mapping[str, type[msgspec.Struct]] = {
    "scenario": ScenarioFile,
    "call": Step,
    "answer": Scripted,
    "recipe": RecipeFile,
    "http": HttpRecipe,
    "needs": Needs,
}
MEANINGS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (TOP / "docs" / "keys.toml").read_text("utf-8")
)


def keys(name: str) -> str:
    """One row a key of a table of a scenario or a recipe: its type, its default, its meaning."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(TABLES[name]):
        kind, default = _kind(field), _default(field)
        rows.append(f"| `{field.name}` | {kind} | {default} | {MEANINGS[name][field.name]} |")
    return "\n".join(rows)


def _kind(field: msgspec.structs.FieldInfo) -> str:
    axis = VARIANTS.get(field.name)
    values = TRANSPORTS if field.name == "transport" else () if axis is None else axis.values
    if values:
        return " ".join(f"`{value}`" for value in values)
    words = str(field.type)
    if isinstance(field.type, type):
        words = {"str": "text", "int": "number", "float": "seconds", "bool": "true or false"}.get(
            field.type.__name__, "table"
        )
    elif literal := re.findall(r"'([^']+)'", words):
        words = " ".join(f"`{value}`" for value in literal)
    elif "tuple[str" in words:
        words = "list of text" if words.startswith("tuple") else "table of lists"
    elif "tuple[int" in words:
        words = "list of numbers"
    elif words.startswith("tuple"):
        words = "tables"
    elif "Mapping" in words:
        words = "table"
    else:
        words = "seconds" if "float" in words else "table" if "Recipe" in words else "text"
    return words


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if value is msgspec.NODEFAULT:
        empty = field.default_factory
        return "must be given" if empty is msgspec.NODEFAULT else "none"
    if value in (None, "", ()) or isinstance(value, Mapping | msgspec.Struct):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(f"`{one}`" for one in value) if isinstance(value, tuple) else f"`{value}`"


def named(whole: str) -> str:
    """One row a segment of a call or of a setup: from where to where, and what it is."""
    rows = ["| segment | from | to | what it is |", "|---|---|---|---|"]
    for each in segments.CALL if whole == "call" else segments.SETUP:
        part = f" (part of `{each.part_of}`)" if each.part_of else ""
        rows.append(f"| `{each.name}` | {each.start} | {each.end} | {each.about}{part} |")
    return "\n".join(rows)


def measured(program: str) -> str:
    """Every row that a program under `tests/perf` printed on our machine."""
    file = REFERENCE / f"{program}.json"
    rows = json.loads(file.read_text("utf-8"))["rows"]
    lines = ["| what | measured | target |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {readme.row(row)} |" for row in rows)])


def parts() -> Iterator[tuple[str, str]]:
    """What stands between each pair of marks, in whichever page has them."""
    yield from ((f"keys {name}", keys(name)) for name in TABLES)
    yield from ((f"segments {whole}", named(whole)) for whole in ("call", "setup"))
    yield from ((f"rows {path.stem}", measured(path.stem)) for path in REFERENCE.glob("*.json"))
    yield "report", readme.report()


def written(text: str) -> str:
    """A page with every part made anew."""
    return pages.filled(text, dict(parts()))


def all_pages() -> list[Path]:
    """Every page, by name."""
    return sorted(FOLDER.glob("*.md"))


def examples(page: str, language: str) -> list[str]:
    """The blocks of a language in a page."""
    return re.findall(rf"```{language}\n(.*?)```", (FOLDER / page).read_text("utf-8"), re.S)


def main() -> None:
    """Write what comes from the program into every page."""
    for page in all_pages():
        page.write_text(written(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

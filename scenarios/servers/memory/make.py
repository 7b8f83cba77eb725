"""A knowledge graph of a few people and projects, in the file format of the memory server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

PEOPLE = ("Ada", "Björn", "Chen", "Elif", "Grace")
PROJECTS = ("search", "billing", "export")


def main(file: Path) -> None:
    """Write the graph, one JSON object a line."""
    lines = [json.dumps(item, ensure_ascii=False) for item in graph()]
    file.write_text("\n".join(lines), "utf-8")


def graph() -> Iterator[dict[str, object]]:
    """Entities, then relations between them."""
    for name in PEOPLE:
        told = [f"{name} works from Lisbon", f"{name} reads mail in the morning"]
        yield {"type": "entity", "name": name, "entityType": "person", "observations": told}
    for name in PROJECTS:
        told = [f"{name} is due in May"]
        yield {"type": "entity", "name": name, "entityType": "project", "observations": told}
    for number, name in enumerate(PEOPLE):
        to = PROJECTS[number % len(PROJECTS)]
        yield {"type": "relation", "from": name, "to": to, "relationType": "works on"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

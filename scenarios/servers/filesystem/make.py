"""A folder as a project has it: a few documents, a folder of sources, nothing of this machine."""

import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Fill `folder`."""
    for name in ("README.md", "CHANGELOG.md", "LICENSE"):
        (folder / name).write_text(f"{name}\n", "utf-8")
    for kind in ("source", "tests"):
        (folder / kind).mkdir()
        for number in range(10):
            (folder / kind / f"{number}.txt").write_text(f"{kind} {number}\n" * 20, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

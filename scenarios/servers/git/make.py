"""A git repository with one commit and one change that is not committed yet."""

import os
import subprocess
import sys
from pathlib import Path

WHO = {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": "2026-11-30T12:00:00Z"}
LIMIT_S = 60.0


def main(folder: Path) -> None:
    """Make the repository in `folder`, whatever the machine's own configuration of git says."""
    folder.mkdir()
    for number in range(10):
        (folder / f"{number}.txt").write_text(f"file {number}\n" * 20, "utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=First")
    (folder / "0.txt").write_text("changed\n", "utf-8")


def git(folder: Path, *words: str) -> None:
    """Run one command of git."""
    names = {f"GIT_{role}_{key}": value for key, value in WHO.items() for role in ROLES}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    variables = {**os.environ, **names, **alone}
    subprocess.run(["git", *words], cwd=folder, env=variables, check=True, timeout=LIMIT_S)


ROLES = ("AUTHOR", "COMMITTER")

if __name__ == "__main__":
    main(Path(sys.argv[1]))

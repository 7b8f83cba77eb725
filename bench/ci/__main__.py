"""`python -m bench.ci measure` and `comment`: the action's steps, told what to do by variables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.ci import comment, measure
from bench.errors import USAGE, BenchError

STEPS: Mapping[str, Callable[[Mapping[str, str], Mapping[str, Any]], int]] = {
    "measure": measure.run,
    "comment": comment.run,
}


def main(words: list[str]) -> int:
    """Run one step; the exit code is that of `ab`, and of `comment` always 0."""
    if len(words) != 1 or words[0] not in STEPS:
        print(f"say one of: {', '.join(STEPS)}", file=sys.stderr)
        return USAGE
    try:
        return STEPS[words[0]](os.environ, _event(os.environ))
    except BenchError as error:
        print(f"::error title=mcp-latency::{_one_line(str(error))}")
        return error.exit_code


def _event(variables: Mapping[str, str]) -> Mapping[str, Any]:
    """What started the workflow; nothing where no runner says it."""
    path = variables.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    found: Mapping[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return found


def _one_line(words: str) -> str:
    """A message as workflow commands take it."""
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

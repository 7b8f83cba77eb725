"""What is to be compared: the action's inputs and the event that started it, to targets of `ab`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.errors import UsageError

PREFIX = "MCP_LATENCY_"
INPUTS = ("COMMAND", "BASE", "HEAD", "SETUP", "ARGS")
REVISION = re.compile(r"[0-9a-f]{40,64}")


class Job(NamedTuple):
    """Two targets of `ab`, its other options, and the revision that must be here for it."""

    base: str
    head: str
    options: tuple[str, ...]
    revision: str | None


def job(variables: Mapping[str, str], event: Mapping[str, Any]) -> Job:
    """`MCP_LATENCY_COMMAND` at two revisions, or `_BASE` and `_HEAD` as they are.

    UsageError where neither is given, or where the event names no base.
    """
    given = {name: variables.get(f"{PREFIX}{name}", "").strip() for name in INPUTS}
    options = shlex.split(given["ARGS"])
    if given["SETUP"]:
        options = ["--setup", given["SETUP"], *options]
    base, head, revision = given["BASE"], given["HEAD"], None
    if not given["COMMAND"] and not (base and head):
        raise UsageError("nothing to compare; set the input command, or both base and head")
    if not base:
        revision = base_of(event)
        base = f"git:{revision} -- {given['COMMAND']}"
    return Job(base, head or f"git:HEAD -- {given['COMMAND']}", tuple(options), revision)


def base_of(event: Mapping[str, Any]) -> str:
    """The commit that a pull request, a merge queue or a push starts from."""
    found = (
        event.get("pull_request", {}).get("base", {}).get("sha")
        or event.get("merge_group", {}).get("base_sha")
        or event.get("before")
        or ""
    )
    if not REVISION.fullmatch(found) or not found.strip("0"):
        raise UsageError(
            "this event has no commit to compare with; set the input base, e.g. "
            "base: 'git:origin/main -- python server.py'"
        )
    return str(found)

"""The commit that a run was made of, as git tells it."""

from __future__ import annotations

import re
import subprocess
import time
from typing import NamedTuple

from bench.errors import UsageError

HASH = re.compile(r"[0-9a-f]{7,64}")
LIMIT_S = 20.0


class Commit(NamedTuple):
    """A whole hash and the time of the commit in UTC; None where git does not tell."""

    name: str | None
    time: str | None


def named(name: str | None) -> Commit:
    """The commit of that name, here; without a name the one checked out, if there is any.

    A hash that git does not know here is taken as it is. UsageError on any other unknown name.
    """
    told = _git("show", "--no-patch", "--format=%H %ct", "--end-of-options", name or "HEAD")
    *_, last = told.splitlines() or [""]
    whole, _, seconds = last.partition(" ")
    if seconds.isdigit():
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))
        return Commit(whole, when)
    if name is not None and not HASH.fullmatch(name):
        raise UsageError(f'--commit "{name}": git knows no such commit here, and it is no hash')
    return Commit(name, None)


def _git(*words: str) -> str:
    """What git prints; nothing where there is no git, no repository or no answer."""
    try:
        ended = subprocess.run(
            ("git", *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout if ended.returncode == 0 else ""

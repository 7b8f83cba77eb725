"""What can go wrong in the user's world, each with the exit code it ends the program with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

FINE, SLOWER, COULD_NOT, INVALID, USAGE, INTERRUPTED = 0, 1, 2, 3, 64, 130


class BenchError(Exception):
    """Something outside this program failed; the text says what, where and what to try next."""

    exit_code = COULD_NOT


class UsageError(BenchError):
    """The words of the command, a scenario or a recipe are wrong."""

    exit_code = USAGE


class SetupError(BenchError):
    """A launch did not get as far as its first call; `phase` names the step that failed."""

    def __init__(self, text: str, *, phase: str, outcome: str = "transport_error") -> None:
        super().__init__(text)
        self.phase = phase
        self.outcome = outcome


class LaunchEnded(BenchError):
    """A launch that was being called ended before its last call; what it gave is kept."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` for the closest known word, else the list of what is known."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; known: {', '.join(names)}" if names else ""

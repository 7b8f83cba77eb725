"""What the ticket desks share: the words of their command line, and what their tools are."""

import argparse
from collections.abc import Sequence
from pathlib import Path

SEARCH_TICKETS = "Find support tickets by words of their title and text, best match first."
NULL = "Answer at once with an empty text: what a call costs when the tool does nothing."
READ_LOG = "Read the log that came with a ticket, up to so many letters."
OWN = ("search_tickets", "null", "read_log")
LINE = "2026-11-30T12:00:00Z INFO request 4711 served in 12 ms\n"


class Flags(argparse.Namespace):
    """How to serve, and which tickets."""

    http: int | None
    json: bool
    stateless: bool
    database: Path | None
    tools: int


def read(about: str | None) -> Flags:
    """Stdio, or with `--http PORT` Streamable HTTP at http://127.0.0.1:PORT/mcp."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP instead of stdio")
    parser.add_argument("--json", action="store_true", help="answer with JSON, not SSE")
    parser.add_argument("--stateless", action="store_true", help="keep no session")
    parser.add_argument("--database", type=Path, metavar="FILE", help="what tickets.py wrote")
    parser.add_argument("--tools", type=int, metavar="N", default=len(OWN), help="so many tools")
    return parser.parse_args(namespace=Flags())


def log(letters: int) -> str:
    """So many letters of a log."""
    return (LINE * (letters // len(LINE) + 1))[:letters]


def names(tools: int) -> Sequence[str]:
    """So many tools: the desk's own, then searches of other desks that are all alike."""
    more = (f"search_tickets_{number:04}" for number in range(len(OWN) + 1, tools + 1))
    return (*OWN[:tools], *more)

"""What the ticket desks share: the words of their command line, and what their tools are."""

import argparse
from pathlib import Path

SEARCH_TICKETS = "Find support tickets by words of their title and text, best match first."
NULL = "Answer at once with an empty text: what a call costs when the tool does nothing."


class Flags(argparse.Namespace):
    """How to serve, and which tickets."""

    http: int | None
    json: bool
    stateless: bool
    database: Path | None


def read(about: str | None) -> Flags:
    """Stdio, or with `--http PORT` Streamable HTTP at http://127.0.0.1:PORT/mcp."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP instead of stdio")
    parser.add_argument("--json", action="store_true", help="answer with JSON, not SSE")
    parser.add_argument("--stateless", action="store_true", help="keep no session")
    parser.add_argument("--database", type=Path, metavar="FILE", help="what tickets.py wrote")
    return parser.parse_args(namespace=Flags())

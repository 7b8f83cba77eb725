"""What the program says: documents to stdout, as JSON or for who reads it, and errors to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.report.figures import Page


def show(
    document: Mapping[str, Any],
    page: Callable[[Mapping[str, Any]], Page],
    *,
    form: str,
    colour: bool = True,
) -> None:
    """A document as JSON, as Markdown, or as this terminal can show it."""
    if form == "json":
        print(json_text(document))
        return
    from bench.report import markdown, terminal

    if form == "markdown":
        print(markdown.printed(page(document), title="mcp-latency"), end="")
    else:
        environment = os.environ if colour else {**os.environ, "NO_COLOR": "1"}
        print(terminal.fitted(page(document), sys.stdout, environment), end="")


def say(
    document: Mapping[str, Any],
    render: Callable[[Mapping[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    """A document as JSON, or as the text that `render` makes of it."""
    print(f"{json_text(document)}\n" if as_json else render(document), end="")


def write(path: Path, text: str) -> None:
    """A text to a file; BenchError where that cannot be."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror}; try: -o FILE") from error


def json_text(document: object) -> str:
    """All ASCII, and no control characters in it: a terminal may be what reads it."""
    return json.dumps(document, indent=1, allow_nan=False)


def complain(words: object) -> None:
    """One line on stderr, whoever worded it."""
    from bench.report.figures import said

    print(f"mcp-latency: {said(words)}", file=sys.stderr)

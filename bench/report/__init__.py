"""Summaries to text: one file a format, all from the document of `report --format json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.report import markdown, terminal

FORMATS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "terminal": terminal.render,
    "markdown": markdown.render,
}

"""The words of the command line as values; argparse.ArgumentTypeError where a word is none."""

from __future__ import annotations

import argparse
import json
from typing import Any


def commas(text: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def count(text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number')
    return int(text)


def at_least_one(text: str) -> int:
    """A whole number from 1 on."""
    value = count(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def seconds(text: str) -> float:
    """So many seconds, above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds')
    return value


def percent(text: str) -> float:
    """A percentage above 0, as a share."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f'"{text}" is no percentage above 0')
    return value / 100


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return value

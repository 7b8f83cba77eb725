"""Why a stored comparison cannot say what it seems to say, in words that end with what helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.errors import nearest
from bench.fingerprint import Difference, told

APART = (
    "the runs were made one after the other: what the machine did in between is in these ratios; "
    "to measure both at once, try: mcp-latency ab"
)
MOST_LAUNCHES = 100
FORBIDS = {"host": "not the same host", "client": "not the same client"}


def reasons(found: Mapping[str, Any], differs: Sequence[Difference]) -> list[str]:
    """Everything that stands against the figures of a comparison of two runs."""
    return [
        *_forbidding(found, differs),
        *_absent(found),
        *_too_few(found["comparisons"]),
        *([APART] if found["compared"] else []),
    ]


def _forbidding(found: Mapping[str, Any], differs: Sequence[Difference]) -> Iterator[str]:
    end = "the verdict was forced" if found["forced"] else "no verdict; to have one anyway: --force"
    for weight, words in FORBIDS.items():
        apart = [told(each._asdict()) for each in differs if each.weight == weight]
        if apart:
            yield f"{words} ({'; '.join(apart)}): {end}"
    factors = found["factors"]
    if len(factors) > 1:
        yield f"{len(factors)} factors differ: {', '.join(factors)}; {end}"


def _absent(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["compared"]:
        yield "nothing was compared"
    for cell in found["missing"]:
        renamed = nearest(cell, found["new"])
        yield f'"{cell}" is missing in the newer run{renamed}'
    for cell in found["new"]:
        yield f'"{cell}" is new: it has no baseline'
    for each in found["failed"]:
        yield f'"{each["cell"]}" failed in {each["side"]} and was not compared: {each["why"]}'


def _too_few(comparisons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    short = [each for each in comparisons if min(each["launches"]) < each["launches_wanted"]]
    if short:
        fewest = min(min(each["launches"]) for each in short)
        wanted = max(each["launches_wanted"] for each in short)
        if wanted <= MOST_LAUNCHES:
            yield (
                f"too few launches ({fewest}) for a verdict on every figure; "
                f"try: run --launches {wanted}"
            )
        else:
            yield (
                f"too much scatter for a verdict on every figure: it would take {wanted} launches "
                "a side; try: a quieter machine (mcp-latency doctor), or mcp-latency ab"
            )

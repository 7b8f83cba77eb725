"""A trace as text for a bug report: a line that says what ran, then each message, redacted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from bench import redact
from bench.errors import UsageError
from bench.model import Message

FORMAT, KIND = 1, "mcp-latency trace"
ABOUT: Sequence[str] = ("server", "transport", "era", "opening", "host")


class Traced(NamedTuple):
    """The messages of one launch, what ended it where that was an error, and what was noted.

    `about` says what ran: its server as it may be kept, its transport and era.
    """

    messages: Sequence[Message]
    error: str | None
    facts: Mapping[str, Any] = {}
    about: Mapping[str, Any] = {}


def cleaned(traced: Traced, secrets: Iterable[str]) -> Traced:
    """The same without these values, and without what looks like a secret wherever it stands."""
    hidden = tuple(secrets)

    def clean(text: str) -> str:
        return redact.loosely(redact.text(text, hidden))

    return Traced(
        [msgspec.structs.replace(each, body=clean(each.body or "")) for each in traced.messages],
        None if traced.error is None else clean(traced.error),
        redact.leaves(traced.facts, hidden),
        redact.leaves(traced.about, hidden),
    )


def text(traced: Traced, host: Mapping[str, Any]) -> str:
    """JSON lines: the head with versions, host, server, facts and error, then the messages."""
    head = {
        "format": FORMAT,
        "kind": KIND,
        **traced.about,
        "host": traced.about.get("host") or dict(host),
        "facts": dict(traced.facts),
        "error": traced.error,
    }
    rows = [head, *(msgspec.to_builtins(message) for message in traced.messages)]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def read(written: str, *, file: str) -> Traced:
    """The trace in such a text; UsageError names `file` and the line that is none of it."""
    first, *rest = written.removesuffix("\n").split("\n")
    head = _row(first, file, 1)
    if head.get("kind") != KIND:
        raise UsageError(
            f"{file} is no trace; try: a file that `trace --save FILE` wrote, or a results folder"
        )
    if head.get("format") != FORMAT:
        raise UsageError(f"{file} has format {head.get('format')}, this program reads {FORMAT}")
    messages = [_message(_row(line, file, at), file, at) for at, line in enumerate(rest, 2)]
    about: dict[str, Any] = {key: head[key] for key in ABOUT if key in head}
    return Traced(messages, head.get("error"), head.get("facts") or {}, about)


def _row(line: str, file: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{file}:{number}: no JSON: {error}") from None
    if not isinstance(row, dict):
        raise UsageError(f"{file}:{number}: no JSON object")
    return row


def _message(row: Mapping[str, Any], file: str, number: int) -> Message:
    try:
        return msgspec.convert(row, Message)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}:{number}: no message: {error}") from None

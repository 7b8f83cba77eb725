"""Secrets taken out of what is kept or shown: by the key they stand under, and by their value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bench.model import Server

HIDDEN = "[hidden]"
SHORTEST_SECRET = 6
_WORDS = r"token|secret|passw|authorization|api[-_]?key|private[-_]?key|credential|cookie|bearer"
_SECRET_KEY = re.compile(_WORDS, re.I)
# Keys are short, which bounds the search at each quote: a body of megabytes is read once.
_SECRET_PAIR = re.compile(
    rf'("[^"\\]{{0,60}}(?:{_WORDS})[^"\\]{{0,60}}"\s*:\s*)"[^"\\]*(?:\\.[^"\\]*)*"', re.I
)
_NOT_SECRET = re.compile(r'"(progressToken|maxTokens|[a-z]*Tokens)"\s*:', re.I)


def is_secret(name: str) -> bool:
    """Whether what stands under this key must not be kept."""
    return bool(_SECRET_KEY.search(name)) and not _NOT_SECRET.match(f'"{name}":')


def secrets_of(server: Server) -> tuple[str, ...]:
    """The values that must not be kept: those of its variables and of its headers."""
    return (*server.env.values(), *(value for _, value in server.headers))


def text(body: str, values: Iterable[str] = ()) -> str:
    """A message body without the texts under secret keys, and without these very values."""
    cleaned = _SECRET_PAIR.sub(_hidden_pair, body)
    for value in sorted({each for each in values if len(each) >= SHORTEST_SECRET}, key=len)[::-1]:
        cleaned = cleaned.replace(value, HIDDEN)
    return cleaned


def url(address: str) -> str:
    """An address without its password and without secret query parameters."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    query = [(k, HIDDEN if is_secret(k) else v) for k, v in parse_qsl(parts.query, True)]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="[]")))


def words(command: Iterable[str]) -> list[str]:
    """A command line without the values of secret options and assignments."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        name, equals, _ = word.partition("=")
        if hide_next:
            shown.append(HIDDEN)
            hide_next = False
        elif equals and is_secret(name):
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(url(word) if "://" in word else word)
            hide_next = word.startswith("-") and is_secret(word)
    return shown


def _hidden_pair(found: re.Match[str]) -> str:
    whole: str = found.group(0)
    return whole if _NOT_SECRET.match(whole) else f'{found.group(1)}"{HIDDEN}"'

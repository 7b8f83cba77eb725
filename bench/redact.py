"""Secrets taken out of what is kept or shown: by the key they stand under, and by their value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import msgspec

from bench.model import Server

HIDDEN = "[hidden]"
SHORTEST_SECRET = 6
_WORDS = r"token|secret|passw|authorization|api[-_]?key|private[-_]?key|credential|cookie|bearer"
_SECRET_KEY = re.compile(_WORDS, re.I)
# Keys are short, which bounds the search at each quote: a body of megabytes is read once.
_SECRET_PAIR = re.compile(
    rf'("[^"\\]{{0,60}}(?:{_WORDS})[^"\\]{{0,60}}"\s*:\s*)"[^"\\]*(?:\\.[^"\\]*)*"', re.I
)
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}", re.I)
_IN_ADDRESS = re.compile(r"(://)[^\s/@\"\\]{1,200}@")
_IN_QUERY = re.compile(rf'([?&][^=&\s"\\]{{0,60}}(?:{_WORDS})[^=&\s"\\]{{0,60}}=)[^&\s"\\#]+', re.I)
_NOT_SECRET = re.compile(r'"(progressToken|maxTokens|[a-z]*Tokens)"\s*:', re.I)


def is_secret(name: str) -> bool:
    """Whether what stands under this key must not be kept."""
    return bool(_SECRET_KEY.search(name)) and not _NOT_SECRET.match(f'"{name}":')


def secrets_of(server: Server) -> tuple[str, ...]:
    """The values that must not be kept: of variables, headers, addresses and secret options."""
    found = [*server.env.values(), *_option_values(server.stdio)]
    for _, value in server.headers:
        found += [value, value.rpartition(" ")[2]]
    if server.http is not None:
        found += [*server.http.env.values(), *_option_values(server.http.command)]
        found += _address_values(server.http.url)
    return tuple(value for value in found if _is_long(value))


def _is_long(value: str) -> bool:
    return len(value) >= SHORTEST_SECRET


def text(body: str, values: Iterable[str] = ()) -> str:
    """A message body without the texts under secret keys, and without these very values."""
    cleaned = _SECRET_PAIR.sub(_hidden_pair, body)
    forms = {form for each in values if _is_long(each) for form in _forms(each)}
    for value in sorted(forms, key=len)[::-1]:
        cleaned = cleaned.replace(value, HIDDEN)
    return cleaned


def _forms(value: str) -> Iterator[str]:
    """How a value may be written: as it is, in JSON with or without escapes, in an address."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="")


def recipe(server: Server) -> dict[str, Any]:
    """A server as it may be kept: names of variables and headers, never their values."""
    known: dict[str, Any] = msgspec.to_builtins(server)
    known.pop("folder")
    known["env"] = sorted(server.env)
    known["headers"] = sorted(name for name, _ in server.headers)
    known["stdio"] = words(server.stdio)
    if server.http is not None:
        known["http"]["env"] = sorted(server.http.env)
        known["http"]["url"] = url(server.http.url)
        known["http"]["command"] = words(server.http.command)
    return known


def secrets_in(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are named like secrets: a server we start inherits them."""
    return tuple(v for name, v in variables.items() if is_secret(name) and _is_long(v))


def loosely(body: str) -> str:
    """A text without what looks like a secret wherever it stands: bearer tokens, in addresses."""
    body = _BEARER.sub(rf"\1{HIDDEN}", body)
    body = _IN_ADDRESS.sub(rf"\1{HIDDEN}@", body)
    return _IN_QUERY.sub(rf"\1{HIDDEN}", body)


def leaves(value: Any, values: Iterable[str] = ()) -> Any:
    """The same data, its texts cleaned like `text`; keys and everything else stay as they are."""
    if isinstance(value, dict):
        return {
            key: HIDDEN if isinstance(each, str) and is_secret(key) else leaves(each, values)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [leaves(each, values) for each in value]
    return text(value, values) if isinstance(value, str) else value


def url(address: str) -> str:
    """An address without its password and without secret query parameters."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    query = [(k, HIDDEN if is_secret(k) else v) for k, v in parse_qsl(parts.query, True)]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="[]")))


def words(command: Iterable[str]) -> list[str]:
    """A command line without the values of secret options, assignments, headers and addresses."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        name, mark, value = _halves(word)
        if hide_next:
            shown.append(HIDDEN)
        elif mark and is_secret(name):
            shown.append(f"{name}{mark}{HIDDEN}")
        elif mark == "=":
            shown.append(f"{name}={url(value) if '://' in value else value}")
        else:
            shown.append(url(word) if "://" in word else word)
        hide_next = not hide_next and not mark and word.startswith("-") and is_secret(word)
    return shown


def _halves(word: str) -> tuple[str, str, str]:
    """`--token=x` and `Authorization: x` in their halves; other words whole."""
    for mark in ("=", ": "):
        name, found, value = word.partition(mark)
        if found and "://" not in name and " " not in name:
            return name, found, value
    return word, "", ""


def _option_values(command: Iterable[str]) -> list[str]:
    """What `words` hides of a command line."""
    found: list[str] = []
    command = list(command)
    for word, shown in zip(command, words(command), strict=True):
        if shown != word:
            value = _halves(word)[2] or word
            found += [value.rpartition(" ")[2], *_address_values(value)]
    return found


def _address_values(address: str) -> list[str]:
    """The password and the secret query values of an address."""
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        return []
    secret = [value for key, value in parse_qsl(parts.query) if is_secret(key)]
    return [password, *secret] if password else secret


def _hidden_pair(found: re.Match[str]) -> str:
    whole: str = found.group(0)
    return whole if _NOT_SECRET.match(whole) else f'{found.group(1)}"{HIDDEN}"'

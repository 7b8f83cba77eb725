"""The server lists that desktop clients and editors keep, as servers; text in, nouns out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bench import target
from bench.errors import UsageError, nearest
from bench.model import Server

# A string, or what JSON with comments allows beyond JSON: comments, and commas before a bracket.
_EXTRA = re.compile(
    r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.S
)
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
LISTS = ("mcpServers", "servers")
KNOWN = ("command", "args", "env", "cwd", "url", "headers", "type", "disabled", "transport")


def read_config(text: str, *, file: str, variables: Mapping[str, str]) -> tuple[Server, ...]:
    """The servers of a configuration file, in its order; disabled ones are left out.

    Comments and trailing commas are accepted. `${NAME}` and `${env:NAME}` are filled in from
    `variables`, `${NAME:-word}` has a default. UsageError names the file, the server and the key.
    """
    data = _decoded(text, file)
    name = next((each for each in LISTS if isinstance(data.get(each), dict)), None)
    if name is None:
        raise UsageError(f"{file}: neither mcpServers nor servers: no server is listed")
    found = [
        _server(key, _filled(entry, variables, f"{file}: {key}"), file)
        for key, entry in data[name].items()
        if not (isinstance(entry, dict) and entry.get("disabled"))
    ]
    if not found:
        raise UsageError(f"{file}: {name} lists no server that is not disabled")
    return tuple(found)


def choose(servers: tuple[Server, ...], name: str, *, file: str) -> Server:
    """The one of that name; UsageError offers the nearest."""
    for server in servers:
        if server.name == name:
            return server
    raise UsageError(f'{file}: no server "{name}"{nearest(name, [one.name for one in servers])}')


def _decoded(text: str, file: str) -> dict[str, Any]:
    plain = _EXTRA.sub(lambda found: found.group(1) or _blank(found.group(0)), text)
    try:
        data = json.loads(plain)
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{file}: not an object")
    return data


def _blank(extra: str) -> str:
    """As many lines as were there, so that errors name the right one."""
    return " " + "\n" * extra.count("\n")


def _filled(value: Any, variables: Mapping[str, str], where: str) -> Any:
    """The same with every variable filled in; one that is not set is named, never left in."""
    if isinstance(value, dict):
        return {key: _filled(each, variables, where) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, variables, where) for each in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found.group(1), variables, where), value)
    return value


def _variable(text: str, variables: Mapping[str, str], where: str) -> str:
    name, has_default, default = text.removeprefix("env:").partition(":-")
    if name.startswith("input:"):
        name = name.removeprefix("input:")
    if name in variables:
        return variables[name]
    if has_default:
        return default
    raise UsageError(f"{where}: ${{{text}}} is not set; try: {name}=… in front of the command")


def _server(name: str, entry: Any, file: str) -> Server:
    where = f"{file}: {name}"
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: not an object")
    command, url = entry.get("command"), entry.get("url")
    if isinstance(url, str):
        headers = _texts(entry, "headers", where)
        sent = tuple(target.header(f"{key}: {value}") for key, value in headers.items())
        return msgspec.structs.replace(target.from_url(url, sent), name=name)
    if not isinstance(command, str):
        unknown = next((key for key in entry if key not in KNOWN), "")
        hint = nearest(unknown, ("command", "url")) if unknown else ""
        raise UsageError(f'{where}: neither "command" nor "url"{hint}')
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        raise UsageError(f"{where}: args is no list of texts")
    cwd = entry.get("cwd")
    return Server(
        name=name,
        stdio=(command, *args),
        env=_texts(entry, "env", where),
        cwd=cwd if isinstance(cwd, str) else None,
    )


def _texts(entry: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    found = entry.get(key, {})
    if not isinstance(found, dict):
        raise UsageError(f"{where}: {key} is no object")
    return {name: str(value) for name, value in found.items()}

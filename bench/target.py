"""The words that name a server - a command, a URL, a known name - to the noun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bench import redact
from bench.errors import UsageError
from bench.model import Headers, HttpRecipe, Server

RUNTIMES = ("python", "node", "npx", "uv", "uvx", "sh", "bash", "deno", "bun", "npm", "exec")
PORTS = {"http": 80, "https": 443}
SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".jar", ".exe")


def from_command(command: Sequence[str]) -> Server:
    """A server started by a command line, which speaks over stdio."""
    if not command:
        raise UsageError("no command after --; say: mcp-latency run -- COMMAND ARG…")
    return Server(name=_name(command), stdio=tuple(command))


def from_url(
    url: str, headers: Headers = (), *, ca: str | None = None, proxy: str | None = None
) -> Server:
    """A server that runs already, reached over Streamable HTTP; the rest as in HttpRecipe."""
    try:
        parts = urlsplit(url)
        name = f"{parts.hostname}-{parts.port or PORTS.get(parts.scheme, 80)}"
    except ValueError as error:
        raise UsageError(f'--url "{url}": {error}') from error
    if parts.scheme not in PORTS or not parts.hostname or not url.isascii():
        raise UsageError(
            f'--url "{redact.url(url)}": say a full address like http://127.0.0.1:8000/mcp'
        )
    return Server(name=name, http=HttpRecipe(url=url, ca=ca, proxy=proxy), headers=headers)


def header(text: str) -> tuple[str, str]:
    """`Name: value` to its two halves."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isascii() or not text.isprintable():
        raise UsageError(f"--header \"{name}\": say it as 'Name: value'")
    return name.strip(), value.strip()


def _name(command: Sequence[str]) -> str:
    """The file or package that the command starts, rather than the runtime in front of it."""
    for word in command:
        path = Path(word)
        stem = path.stem if path.suffix in SUFFIXES else path.name
        if word.startswith("-") or not stem or stem.rstrip("0123456789.") in RUNTIMES:
            continue
        return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in stem)
    return Path(command[0]).stem or "server"

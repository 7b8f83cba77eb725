"""The stateless era, 2026-07-28: every request carries its own protocol context."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import jsonrpc
from bench.era import versions
from bench.era.stateful import CLIENT_INFO
from bench.era.subscribing import Subscription
from bench.errors import SetupError
from bench.model import Agreement, EraName, Outgoing, Tool

VERSIONS = ("2026-07-28",)
NEWEST = VERSIONS[-1]
_PREFIX = "io.modelcontextprotocol/"
_MARK, _MARK_END = "=?base64?", "?="
# What a header may be called (RFC 9110, 5.6.2); a server's word is not sent without a look.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# The parameter that a gateway routes by, per method (2026-07-28, streamable-http: Mcp-Name).
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Stateless:
    """Requests of 2026-07-28, basic/index: `_meta` in each, and over HTTP the same in headers."""

    name: EraName = "stateless"
    cheapest = "server/discover"
    opening_step = "discover"
    closing_cancels = True

    def __init__(
        self, version: str | None = None, capabilities: Mapping[str, Any] | None = None
    ) -> None:
        self.version = version or NEWEST
        self._meta = {
            f"{_PREFIX}protocolVersion": self.version,
            f"{_PREFIX}clientInfo": CLIENT_INFO,
            f"{_PREFIX}clientCapabilities": dict(capabilities or {}),
        }
        self._mirrored: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}

    def propose(self, version: str) -> None:
        """Name this one in every request that follows."""
        self.version = version
        self._meta[f"{_PREFIX}protocolVersion"] = version

    def opening(self, id: int) -> Outgoing:
        """`server/discover`, which a client may skip but which says what is there."""
        return self.request(id, "server/discover", {})

    def agree(self, body: bytes) -> Agreement:
        """Our version if the server lists it, else the newest it lists that we know."""
        result = jsonrpc.result_of(body)
        offered = result.get("supportedVersions")
        listed = offered if isinstance(offered, list) else ()
        if self.version not in listed:
            known = [version for version in VERSIONS if version in listed]
            if not known:
                raise SetupError(_refused(body, self.version, offered), phase="discover")
            self.propose(known[-1])
        meta = result.get("_meta")
        info = meta.get(f"{_PREFIX}serverInfo") if isinstance(meta, dict) else None
        return Agreement(
            protocol_version=self.version,
            server_info=info if isinstance(info, dict) else {},
            capabilities=versions.announced(result),
        )

    def confirmation(self) -> Outgoing | None:
        """There is nothing to confirm: no request leans on an earlier one."""
        return None

    def request(self, id: int, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A request with its `_meta`, and the headers that must say the same."""
        meta = {**params.get("_meta", {}), **self._meta}
        body = jsonrpc.request(id, method, {**params, "_meta": meta})
        headers = tuple(self._headers(method, params))
        return Outgoing(method=method, body=body, id=id, headers=headers)

    def notification(self, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A notification; over HTTP the headers of its method (streamable-http leaves it open)."""
        body = jsonrpc.notification(method, params)
        headers = (("MCP-Protocol-Version", self.version), ("Mcp-Method", method))
        return Outgoing(method=method, body=body, headers=headers)

    def subscription(self, wanted: Mapping[str, Any]) -> Subscription:
        """One request that stays open (2026-07-28, basic/patterns/subscriptions)."""
        return Subscription(
            (("subscriptions/listen", {"notifications": dict(wanted)}),),
            acknowledged_by="notifications/subscriptions/acknowledged",
        )

    def proven(self, body: bytes) -> bool:
        """A result of this era says what kind it is (2026-07-28, basic/index: resultType)."""
        return "resultType" in jsonrpc.result_of(body)

    def learn(self, tools: Sequence[Tool]) -> None:
        """Note which arguments a tool wants mirrored into headers (`x-mcp-header`)."""
        for tool in tools:
            marked = tuple(_marked(tool.inputSchema, ()))
            if marked:
                self._mirrored[tool.name] = marked

    def _headers(self, method: str, params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield "MCP-Protocol-Version", self.version
        yield "Mcp-Method", method
        name = params.get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            yield "Mcp-Name", header_value(name)
            for path, header in self._mirrored.get(name, ()):
                value = _reach(params.get("arguments"), path)
                if value is not None:
                    yield f"Mcp-Param-{header}", header_value(value)


def header_value(value: str | int | float | bool) -> str:
    """The value as a header carries it: plain where it can be, else base64 of its UTF-8.

    2026-07-28, basic/transports/streamable-http: not printable ASCII, an edge space, or a
    value that looks like the marker itself is sent as `=?base64?…?=`.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    plain = all(" " <= letter <= "~" for letter in text)
    if plain and text == text.strip(" ") and not text.startswith(_MARK):
        return text
    return f"{_MARK}{base64.b64encode(text.encode()).decode()}{_MARK_END}"


def _marked(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Paths of the properties marked `x-mcp-header`, reached only through `properties`."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, child in properties.items() if isinstance(properties, dict) else ():
        header = child.get("x-mcp-header") if isinstance(child, dict) else None
        if isinstance(header, str) and _TOKEN.fullmatch(header):
            yield (*path, name), header
        yield from _marked(child, (*path, name))


def _reach(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str | int | bool) else None


def _refused(body: bytes, version: str, offered: object) -> str:
    error = jsonrpc.error_of(body)
    if error:
        return (
            f"the server does not speak {version}: server/discover was answered with "
            f"error {error.get('code')}: {error.get('message')}{versions.spoken(error)}"
        )
    return f"the server does not offer {version}; it offers {offered!r}"

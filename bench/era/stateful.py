"""The handshake era, 2024-11-05 to 2025-11-25: initialize, initialized, then requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench import jsonrpc
from bench.errors import SetupError
from bench.model import Agreement, EraName, Headers, Outgoing, Tool

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = VERSIONS[-1]
FIRST_WITH_VERSION_HEADER = "2025-06-18"
CLIENT_INFO = {"name": "mcp-latency", "version": "0.1.0"}


class Stateful:
    """Lifecycle of 2025-11-25, basic/lifecycle; capabilities declared are none."""

    name: EraName = "stateful"
    cheapest = "ping"
    opening_step = "initialize"

    def __init__(self, version: str | None = None) -> None:
        self._proposed = version or NEWEST
        self._headers: Headers = ()

    def opening(self, id: int) -> Outgoing:
        """`initialize`, proposing one version."""
        params = {
            "protocolVersion": self._proposed,
            "capabilities": {},
            "clientInfo": CLIENT_INFO,
        }
        body = jsonrpc.request(id, "initialize", params)
        return Outgoing(method="initialize", body=body, id=id, opens_session=True)

    def agree(self, body: bytes) -> Agreement:
        """The version the server offers, if we know it; else the connection is not used."""
        result = jsonrpc.result_of(body)
        version = result.get("protocolVersion")
        if version not in VERSIONS:
            raise SetupError(_declined(body, self._proposed, version), phase="initialize")
        if version >= FIRST_WITH_VERSION_HEADER:
            self._headers = (("MCP-Protocol-Version", version),)
        return Agreement(
            protocol_version=version,
            server_info=_mapping(result.get("serverInfo")),
        )

    def confirmation(self) -> Outgoing | None:
        """`notifications/initialized`: without it the server does not know that we accepted."""
        method = "notifications/initialized"
        return Outgoing(method=method, body=jsonrpc.notification(method), headers=self._headers)

    def request(self, id: int, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A plain request; over HTTP it names the agreed version (from 2025-06-18)."""
        body = jsonrpc.request(id, method, params or None)
        return Outgoing(method=method, body=body, id=id, headers=self._headers)

    def learn(self, tools: Sequence[Tool]) -> None:
        """Nothing in the tool list changes how this era dresses a call."""


def _declined(body: bytes, proposed: str, offered: object) -> str:
    error = jsonrpc.error_of(body)
    if error:
        return (
            f"the server refused initialize ({proposed}): "
            f"error {error.get('code')}: {error.get('message')}"
        )
    return (
        f"the server answered initialize ({proposed}) with protocol version {offered!r}, "
        f"which is none of {', '.join(VERSIONS)}; initialized was not sent"
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""The handshake era, 2024-11-05 to 2025-11-25: initialize, initialized, then requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench import jsonrpc
from bench.era import versions
from bench.era.subscribing import Subscription
from bench.errors import SetupError
from bench.model import Agreement, EraName, Headers, Outgoing, Tool

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = VERSIONS[-1]
FIRST_WITH_VERSION_HEADER = "2025-06-18"
CLIENT_INFO = {"name": "mcp-latency", "version": "0.1.0"}


class Stateful:
    """Lifecycle of 2025-11-25, basic/lifecycle; capabilities declared are none, unless given."""

    name: EraName = "stateful"
    cheapest = "ping"
    opening_step = "initialize"
    closing_cancels = False

    def __init__(
        self, version: str | None = None, capabilities: Mapping[str, Any] | None = None
    ) -> None:
        self.version = version or NEWEST
        self._capabilities = dict(capabilities or {})
        self._headers: Headers = ()

    def propose(self, version: str) -> None:
        """Propose this one in the next `initialize`."""
        self.version = version

    def opening(self, id: int) -> Outgoing:
        """`initialize`, proposing one version."""
        params = {
            "protocolVersion": self.version,
            "capabilities": self._capabilities,
            "clientInfo": CLIENT_INFO,
        }
        body = jsonrpc.request(id, "initialize", params)
        return Outgoing(method="initialize", body=body, id=id, opens_session=True)

    def agree(self, body: bytes) -> Agreement:
        """The version the server offers, if we know it; else the connection is not used."""
        result = jsonrpc.result_of(body)
        version = result.get("protocolVersion")
        if version not in VERSIONS:
            raise SetupError(_declined(body, self.version, version), phase="initialize")
        self.version = version
        if version >= FIRST_WITH_VERSION_HEADER:
            self._headers = (("MCP-Protocol-Version", version),)
        return Agreement(
            protocol_version=version,
            server_info=_mapping(result.get("serverInfo")),
            capabilities=versions.announced(result),
        )

    def confirmation(self) -> Outgoing | None:
        """`notifications/initialized`: without it the server does not know that we accepted."""
        method = "notifications/initialized"
        return Outgoing(method=method, body=jsonrpc.notification(method), headers=self._headers)

    def request(self, id: int, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A plain request; over HTTP it names the agreed version (from 2025-06-18)."""
        body = jsonrpc.request(id, method, params or None)
        return Outgoing(method=method, body=body, id=id, headers=self._headers)

    def notification(self, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A plain notification."""
        body = jsonrpc.notification(method, params)
        return Outgoing(method=method, body=body, headers=self._headers)

    def subscription(self, wanted: Mapping[str, Any]) -> Subscription:
        """One `resources/subscribe` a URI; changes of lists are told unasked (2025-11-25)."""
        uris = wanted.get("resourceSubscriptions", ())
        return Subscription(tuple(("resources/subscribe", {"uri": uri}) for uri in uris))

    def proven(self, body: bytes) -> bool:  # noqa: ARG002
        """The handshake has proven it; no reply after that does."""
        return True

    def learn(self, tools: Sequence[Tool]) -> None:
        """Nothing in the tool list changes how this era dresses a call."""


def _declined(body: bytes, proposed: str, offered: object) -> str:
    error = jsonrpc.error_of(body)
    if error:
        return (
            f"the server refused initialize ({proposed}): "
            f"error {error.get('code')}: {error.get('message')}{versions.spoken(error)}"
        )
    if offered == proposed:
        return (
            f"the server agreed to protocol version {offered!r}, which there is not: it repeats "
            "what it is asked for, and so says nothing of what it speaks; initialized was not sent"
        )
    return (
        f"the server answered initialize ({proposed}) with protocol version {offered!r}, "
        f"which is none of {', '.join(VERSIONS)}; initialized was not sent"
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""What to say first and how to dress a request, per era; bytes in, bytes out, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from bench.era import stateful, stateless
from bench.era.subscribing import Subscription
from bench.model import Agreement, EraName, Outgoing, Tool


class Era(Protocol):
    """One side of one connection's conversation, from its opening on.

    `opening_step` names the first request as the setup segments do; `cheapest` is the method
    that asks least of a server; `version` is the one proposed, and once agreed that one.
    `closing_cancels`: a response stream that is closed means that its request is cancelled.
    """

    name: EraName
    cheapest: str
    opening_step: str
    version: str
    closing_cancels: bool

    def propose(self, version: str) -> None:
        """Propose this version from now on: the one before it was turned down."""

    def opening(self, id: int) -> Outgoing:
        """The first request."""

    def agree(self, body: bytes) -> Agreement:
        """What the reply to the opening settles; raises SetupError where it settles nothing."""

    def confirmation(self) -> Outgoing | None:
        """What is owed after the agreement, before any other request."""

    def request(self, id: int, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A request, dressed as this era wants it."""

    def proven(self, body: bytes) -> bool:
        """Whether a reply to an ordinary request shows that this era was understood."""

    def notification(self, method: str, params: Mapping[str, Any]) -> Outgoing:
        """A notification, dressed as this era wants it."""

    def subscription(self, wanted: Mapping[str, Any]) -> Subscription:
        """How to be told of the changes that a filter of 2026-07-28 names."""

    def learn(self, tools: Sequence[Tool]) -> None:
        """Take in what the tool list says about how calls must be dressed."""


ERAS: Mapping[EraName, Callable[[str | None, Mapping[str, Any]], Era]] = {
    "stateful": stateful.Stateful,
    "stateless": stateless.Stateless,
}

VERSIONS_OF: Mapping[EraName, tuple[str, ...]] = {
    "stateful": stateful.VERSIONS,
    "stateless": stateless.VERSIONS,
}


def era_of_version(version: str) -> EraName:
    """The era a protocol version belongs to; unknown versions are taken as stateful."""
    return "stateless" if version in stateless.VERSIONS else "stateful"

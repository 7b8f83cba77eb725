"""Who makes the calls of a launch: our own wire, or the official SDK's client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from bench import sdk_session, session
from bench.cache import Shelf
from bench.model import Agreement, Cell, Limits, Reply, Scenario, Server, Step
from bench.process import Environment, Process
from bench.recorder import Recorder


class Asking(Protocol):
    """A call that is ready to be made; `body` and `id` are those on the wire, once it was."""

    @property
    def body(self) -> bytes:
        """The request as it was sent."""

    @property
    def id(self) -> int | None:
        """Its id; None where it was not sent."""


A = TypeVar("A", bound=Asking)


class Client(Protocol[A]):
    """One side of one launch, opened once and then called."""

    process: Process | None

    @property
    def response_form(self) -> str | None:
        """How replies came: `line`, `json` or `sse`; None before the first."""

    def trace(self, traceparent: Callable[[int], str]) -> None:
        """Let each call carry the parent that `traceparent` gives for its id."""

    def honour(self, shelf: Shelf) -> None:
        """Use what earlier launches were told for as long as its cache hints say."""

    async def open(self) -> Agreement:
        """Connect and agree; SetupError where nothing is agreed."""

    def follow(self, scenario: Scenario) -> None:
        """Answer the server as the scenario says; UsageError where this client cannot."""

    async def prepare(self, scenario: Scenario) -> None:
        """What this client asks before the first call of the scenario."""

    def request(self, step: Step) -> A:
        """One call, made ready before its clock starts."""

    def cheapest(self) -> tuple[str, A]:
        """The name and the call of the cheapest request."""

    async def call(self, out: A) -> Reply:
        """Make it; a failure is an outcome of the reply."""

    async def renewed(self) -> bool:
        """Whether the session was lost with the last reply, and a new one is open."""

    async def lost(self, reply: Reply) -> bool:
        """Whether no other reply can follow."""

    async def why_gone(self) -> str:
        """How the server left, if it did, and its last words."""


Launch = Callable[
    [Server, Cell, Recorder, Environment, Limits], AbstractAsyncContextManager[Client[Any]]
]
DEFAULT = "wire"
CLIENTS: Mapping[str, Launch] = {
    "wire": session.launch,
    "sdk": sdk_session.pinned,
    "sdk-auto": sdk_session.auto,
}

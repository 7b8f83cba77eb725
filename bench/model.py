"""The nouns: what is asked of whom, and what came back; without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec

Transport: TypeAlias = Literal["stdio", "http", "memory"]
EraName: TypeAlias = Literal["stateful", "stateless"]
Outcome: TypeAlias = Literal[
    "ok",
    "tool_error",
    "protocol_error",
    "transport_error",
    "timeout",
    "cancelled",
    "input_required",
]
Kind: TypeAlias = Literal["request", "response", "notification", "noise"]
Phase: TypeAlias = Literal["first", "warmup", "steady", "round", "floor"]

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
ERAS: tuple[EraName, ...] = ("stateful", "stateless")
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

TOOL_CALL = "tools/call"
OWN = "own"  # the scenario of a server that none was written for
Headers: TypeAlias = tuple[tuple[str, str], ...]


class Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages a server needs, by registry, as requirement strings; where it runs; what it reads.

    `platform`: the only one it is made for (`linux-x86_64`). `prepare`: a command that makes its
    working files in the folder `{work}`, once, without a network.
    """

    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    platform: str | None = None
    prepare: tuple[str, ...] = ()


class HttpRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a server is reached over HTTP; without a command it runs already.

    `options` holds the extra arguments that a variant value needs (`json = ["--json"]`). `ca`: a
    file of certificates to trust beside the system's; `proxy`: the URL of one to go through.
    """

    url: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    options: Mapping[str, tuple[str, ...]] = {}
    ca: str | None = None
    proxy: str | None = None


class Server(msgspec.Struct, frozen=True):
    """The program under test and how to start it, per transport.

    `folder` is its recipe's, in which it starts unless `cwd` names another. `options`: the extra
    arguments for an axis that has numbers, with the axis as a word to fill in
    (`catalogue = ["--tools", "{catalogue}"]`).
    """

    name: str
    about: str = ""
    stdio: tuple[str, ...] = ()
    http: HttpRecipe | None = None
    eras: tuple[EraName, ...] = ERAS
    null_tool: str | None = None
    needs: Needs = Needs()
    env: Mapping[str, str] = {}
    options: Mapping[str, tuple[str, ...]] = {}
    headers: Headers = ()
    folder: str | None = None
    cwd: str | None = None

    @property
    def transports(self) -> tuple[Transport, ...]:
        """The transports this server has a recipe for."""
        has = {"stdio": bool(self.stdio), "http": self.http is not None}
        return tuple(name for name in TRANSPORTS if has[name])

    def arguments(self, transport: Transport, variant: Mapping[str, str]) -> tuple[str, ...]:
        """The extra arguments that the values of a variant take."""
        named = self.http.options if transport == "http" and self.http is not None else {}
        of_values = [word for value in variant.values() for word in named.get(value, ())]
        of_axes = [
            word.replace(f"{{{axis}}}", value)
            for axis, value in variant.items()
            for word in self.options.get(axis, ())
        ]
        return (*of_values, *of_axes)


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is asked of a server: a tool with its arguments, or any method with params.

    `era`: asked in that era only. `meta` goes into `_meta` as it is; `progress` asks for progress
    notifications. `cancel_after_s`: given up after so long, and the server told. `event`: the
    method of a notification that this is expected to bring about.
    """

    tool: str = ""
    arguments: Mapping[str, Any] = {}
    method: str = TOOL_CALL
    params: Mapping[str, Any] = {}
    name: str = ""
    era: EraName | None = None
    meta: Mapping[str, Any] = {}
    progress: bool = False
    cancel_after_s: float | None = None
    event: str | None = None

    @property
    def label(self) -> str:
        """What it is called in tables: its name, else its tool, else its method."""
        return self.name or self.tool or self.method

    @property
    def asked_params(self) -> dict[str, Any]:
        """The params of the request, without what its launch adds to `_meta`."""
        if self.method == TOOL_CALL:
            return {"name": self.tool, "arguments": self.arguments}
        return dict(self.params)


class Scripted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the client answers when the server asks it `method`, after thinking for so long."""

    method: str
    result: Mapping[str, Any] = {}
    think_s: float = 0.0


class Scenario(msgspec.Struct, frozen=True):
    """What is asked of which servers, how often, and along which axes."""

    name: str
    call: tuple[Step, ...]
    about: str = ""
    servers: tuple[str, ...] = ()
    transport: tuple[Transport, ...] = TRANSPORTS
    era: tuple[EraName, ...] = ERAS
    launches: int = 10
    calls: int = 100
    warmup: int = 5
    variants: Mapping[str, tuple[str, ...]] = {}
    capabilities: Mapping[str, Any] = {}
    honour_cache: bool = False
    answer: tuple[Scripted, ...] = ()
    listen: Mapping[str, Any] = {}

    def asked_in(self, era: EraName) -> tuple[Step, ...]:
        """The steps of one era."""
        return tuple(step for step in self.call if step.era in (None, era))


class Limits(msgspec.Struct, frozen=True):
    """How long one call, and each step of a setup, may take, and how long a message may be."""

    call_s: float = 30.0
    setup_s: float = 30.0
    message_bytes: int = 64 * 1024 * 1024


class Placement(msgspec.Struct, frozen=True):
    """The cores the client and the server's whole tree run on; empty: left to the system."""

    client: tuple[int, ...] = ()
    server: tuple[int, ...] = ()


class Cell(msgspec.Struct, frozen=True):
    """One point of scenario x server x transport x era x variant, as asked for."""

    name: str
    scenario: str
    server: str
    transport: Transport
    era: EraName
    variant: Mapping[str, str] = {}
    protocol_version: str | None = None
    capabilities: Mapping[str, Any] = {}


class Turn(msgspec.Struct, frozen=True):
    """One launch of one cell: `launch` counts over the run, `round` within the cell."""

    cell: Cell
    launch: int
    round: int


class Endpoint(msgspec.Struct, frozen=True):
    """Where a wire attaches: the pipe ends of a child, or the URL of a listening server.

    Without `keep_alive` each exchange has a connection of its own; with `quick_ack` what arrives
    is acknowledged at once. `ca` and `proxy` as in HttpRecipe.
    """

    read_fd: int | None = None
    write_fd: int | None = None
    url: str | None = None
    headers: Headers = ()
    keep_alive: bool = True
    limit_bytes: int = Limits().message_bytes
    quick_ack: bool = False
    ca: str | None = None
    proxy: str | None = None


class Outgoing(msgspec.Struct, frozen=True):
    """One message to send: its JSON bytes, and the headers it wants where there are headers.

    `opens_session`: a session id that comes back with its reply is to be sent from then on.
    """

    method: str
    body: bytes
    id: int | None = None
    headers: Headers = ()
    opens_session: bool = False


class Reply(msgspec.Struct):
    """What became of one request: its outcome and its stamps (ns of the one clock).

    `body` is the JSON-RPC message, empty where none came; `why` says in words what failed.
    `connecting_ns` to `connected_ns`: a connection made for it, by our own wire before it was sent,
    by the SDK's client after. `out_ns` and `in_ns`: its own message on the wire, where a client
    does more around that than we do.
    `think_ns`: how long we let the server wait for our answers, a duration; `asked_ns`: when it
    first asked. `progress_ns`, `event_ns`: its first progress, and the notification it brought
    about, were there. `rounds`: the exchanges it took, where it took more than one.
    """

    outcome: Outcome
    sent_ns: int
    written_ns: int | None = None
    first_byte_ns: int | None = None
    received_ns: int | None = None
    decoded_ns: int | None = None
    error_code: int | None = None
    body: bytes = b""
    http_status: int | None = None
    local_port: int | None = None
    server_timing: bytes | None = None
    why: str = ""
    wire_requests: int = 1
    connecting_ns: int | None = None
    connected_ns: int | None = None
    out_ns: int | None = None
    in_ns: int | None = None
    think_ns: int | None = None
    asked_ns: int | None = None
    progress_ns: int | None = None
    event_ns: int | None = None
    cancelled_ns: int | None = None
    rounds: tuple[Reply, ...] = ()


class Agreement(msgspec.Struct, frozen=True):
    """What opening a connection settled: the version, and who the server says it is.

    `capabilities` names what the server announces; None where it was not asked, or did not say.
    """

    protocol_version: str
    server_info: Mapping[str, Any] = {}
    capabilities: tuple[str, ...] | None = None


class Tool(msgspec.Struct, frozen=True):
    """One tool as the server lists it."""

    name: str
    inputSchema: Mapping[str, Any] = {}


class Message(msgspec.Struct, frozen=True):
    """One JSON-RPC message on the wire; `body` is there for the launches whose text is kept."""

    at_ns: int
    direction: Literal["out", "in"]
    kind: Kind
    bytes: int
    method: str | None = None
    id: str | None = None
    http_status: int | None = None
    body: str | None = None

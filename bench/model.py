"""The nouns: what is measured, what was seen, and what is said of it; frozen, without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

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
Phase: TypeAlias = Literal["first", "warmup", "steady", "floor"]

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
ERAS: tuple[EraName, ...] = ("stateful", "stateless")
OUTCOMES: tuple[Outcome, ...] = (
    "ok",
    "tool_error",
    "protocol_error",
    "transport_error",
    "timeout",
    "cancelled",
    "input_required",
)

Headers: TypeAlias = tuple[tuple[str, str], ...]


class Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages a server needs, by registry, as requirement strings; where it runs; what it reads.

    `platform` is the only one its programs are made for (`linux-x86_64`). `prepare` is a command
    that makes its working files in the folder `{work}`, once, without a network.
    """

    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    platform: str | None = None
    prepare: tuple[str, ...] = ()


class HttpRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a server is reached over HTTP; without a command it runs already.

    `options` holds the extra arguments that a variant value needs (`json = ["--json"]`).
    """

    url: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    options: Mapping[str, tuple[str, ...]] = {}


class Server(msgspec.Struct, frozen=True):
    """The program under test and how to start it, per transport.

    `folder` is its recipe's, in which it starts unless `cwd` names another.
    """

    name: str
    about: str = ""
    stdio: tuple[str, ...] = ()
    http: HttpRecipe | None = None
    eras: tuple[EraName, ...] = ERAS
    null_tool: str | None = None
    needs: Needs = Needs()
    env: Mapping[str, str] = {}
    headers: Headers = ()
    folder: str | None = None
    cwd: str | None = None

    @property
    def transports(self) -> tuple[Transport, ...]:
        """The transports this server has a recipe for."""
        has = {"stdio": bool(self.stdio), "http": self.http is not None}
        return tuple(name for name in TRANSPORTS if has[name])


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question put to a server: a tool and its arguments."""

    tool: str
    arguments: Mapping[str, Any] = {}


class Scenario(msgspec.Struct, frozen=True):
    """What is asked of which servers, how often, and along which axes."""

    name: str
    call: tuple[ToolCall, ...]
    about: str = ""
    servers: tuple[str, ...] = ()
    transport: tuple[Transport, ...] = TRANSPORTS
    era: tuple[EraName, ...] = ERAS
    launches: int = 10
    calls: int = 100
    warmup: int = 5
    variants: Mapping[str, tuple[str, ...]] = {}


class Axis(msgspec.Struct, frozen=True):
    """A variant that can be asked for: its values, and the cells it means something in."""

    values: tuple[str, ...]
    transports: tuple[Transport, ...] = TRANSPORTS
    eras: tuple[EraName, ...] = ERAS


VARIANTS: Mapping[str, Axis] = {
    "session": Axis(values=("kept", "none"), transports=("http",), eras=("stateful",)),
    "response": Axis(values=("json", "sse"), transports=("http",)),
    "connection": Axis(values=("keep-alive", "per-call"), transports=("http",)),
    "client": Axis(values=("wire", "sdk", "sdk-auto")),
    "probe": Axis(values=("on", "off")),
}


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


class Turn(msgspec.Struct, frozen=True):
    """One launch of one cell: `launch` counts over the run, `round` within the cell."""

    cell: Cell
    launch: int
    round: int


class Endpoint(msgspec.Struct, frozen=True):
    """Where a wire attaches: the pipe ends of a child, or the URL of a listening server.

    Without `keep_alive` each exchange has a connection of its own.
    """

    read_fd: int | None = None
    write_fd: int | None = None
    url: str | None = None
    headers: Headers = ()
    keep_alive: bool = True
    limit_bytes: int = Limits().message_bytes


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
    `connecting_ns` to `connected_ns`: a connection made for it, before it was sent. `out_ns` and
    `in_ns`: its own message on the wire, where a client does more around that than we do.
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


class Agreement(msgspec.Struct, frozen=True):
    """What opening a connection settled: the version, and who the server says it is."""

    protocol_version: str
    server_info: Mapping[str, Any] = {}


class Tool(msgspec.Struct, frozen=True):
    """One tool as the server lists it."""

    name: str
    description: str | None = None
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


CALL_COLUMNS: Mapping[str, str] = {
    "cell": "text",
    "launch": "int",
    "round": "int",
    "call": "int",
    "phase": "text",
    "tool": "text",
    "outcome": "text",
    "error_code": "int",
    "intended_ns": "int",
    "sent_ns": "int",
    "written_ns": "int",
    "first_byte_ns": "int",
    "received_ns": "int",
    "decoded_ns": "int",
    "read_ns": "int",
    "entered_ns": "int",
    "left_ns": "int",
    "writing_ns": "int",
    "request_bytes": "int",
    "response_bytes": "int",
    "wire_requests": "int",
    "in_flight": "int",
    "request_id": "int",
    "local_port": "int",
    "header_ns": "int",
    "reported_ns": "int",
    "reported_by": "text",
    "connecting_ns": "int",
    "connected_ns": "int",
    "out_ns": "int",
    "in_ns": "int",
}
SPAN_COLUMNS: Mapping[str, str] = {"launch": "int", "call": "int", "reported_ns": "int"}
STAMP_COLUMNS: Mapping[str, str] = {
    "launch": "int",
    "call": "int",
    "read_ns": "int",
    "entered_ns": "int",
    "left_ns": "int",
    "writing_ns": "int",
}
MESSAGE_COLUMNS: Mapping[str, str] = {
    "cell": "text",
    "launch": "int",
    "seq": "int",
    "at_ns": "int",
    "direction": "text",
    "kind": "text",
    "method": "text",
    "id": "text",
    "bytes": "int",
    "http_status": "int",
}

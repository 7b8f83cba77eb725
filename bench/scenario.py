"""The text of a scenario or a recipe to validated nouns; unknown keys are errors with words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from bench.errors import UsageError, nearest
from bench.model import (
    ERAS,
    TOOL_CALL,
    TRANSPORTS,
    EraName,
    HttpRecipe,
    Needs,
    Scenario,
    Scripted,
    Server,
    Step,
    Transport,
)
from bench.variants import VARIANTS

T = TypeVar("T")


class ScenarioFile(msgspec.Struct, frozen=True):
    """The keys of a scenario file; a scenario's name is its file's."""

    call: tuple[Step, ...]
    about: str = ""
    servers: tuple[str, ...] = ()
    transport: tuple[Transport, ...] = TRANSPORTS
    era: tuple[EraName, ...] = ERAS
    launches: int = 10
    calls: int = 100
    warmup: int = 5
    session: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    connection: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    ack: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    catalogue: tuple[int, ...] = ()
    capabilities: Mapping[str, Any] = {}
    honour_cache: bool = False
    answer: tuple[Scripted, ...] = ()
    listen: Mapping[str, Any] = {}


class RecipeFile(msgspec.Struct, frozen=True):
    """The keys of a recipe file; a server's name is its folder's."""

    about: str = ""
    stdio: tuple[str, ...] = ()
    http: HttpRecipe | None = None
    eras: tuple[EraName, ...] = ERAS
    null_tool: str | None = None
    needs: Needs = Needs()
    env: Mapping[str, str] = {}
    options: Mapping[str, tuple[str, ...]] = {}
    cwd: str | None = None


CLIENT_CAPABILITIES = ("roots", "sampling", "elicitation", "tasks", "experimental", "extensions")
TABLES: Mapping[str, type[msgspec.Struct]] = {
    "call": Step,
    "answer": Scripted,
    "http": HttpRecipe,
    "needs": Needs,
}
# What a client declares before a server may ask it (2025-11-25, client/*; 2026-07-28, MRTR).
DECLARED: Mapping[str, str] = {
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
    "elicitation/create": "elicitation",
}
# Methods that the other era does not have (2026-07-28, changelog).
ONLY_IN: Mapping[str, EraName] = {
    "ping": "stateful",
    "logging/setLevel": "stateful",
    "resources/subscribe": "stateful",
    "resources/unsubscribe": "stateful",
    "server/discover": "stateless",
}
OUR_OWN = ("initialize", "subscriptions/listen")
LISTEN: Mapping[str, type] = {
    "toolsListChanged": bool,
    "promptsListChanged": bool,
    "resourcesListChanged": bool,
    "resourceSubscriptions": list,
}


def read_scenario(text: str, *, name: str, file: str) -> Scenario:
    """The scenario in `text`; raises UsageError naming `file`, the key and the nearest known."""
    read = _read(text, ScenarioFile, file)
    if not read.call:
        raise UsageError(f"{file}: no [[call]]: a scenario asks at least one thing")
    for transport in read.transport:
        if transport not in TRANSPORTS:
            raise UsageError(f'{file}: transport "{transport}"{nearest(transport, TRANSPORTS)}')
    for key in ("launches", "calls"):
        if getattr(read, key) < 1:
            raise UsageError(f"{file}: {key} must be at least 1")
    _check_capabilities(read.capabilities, text, file)
    for number, step in enumerate(read.call, 1):
        _check_step(step, read.era, f"{file}: call {number}")
    _check_script(read, file)
    asked = {key: tuple(map(str, values)) for key in VARIANTS if (values := getattr(read, key))}
    for key, values in asked.items():
        check_variant(key, values, where=file)
    return Scenario(
        name=name,
        call=read.call,
        about=read.about,
        servers=read.servers,
        transport=read.transport,
        era=read.era,
        launches=read.launches,
        calls=read.calls,
        warmup=read.warmup,
        variants=asked,
        capabilities={**{DECLARED[each.method]: {} for each in read.answer}, **read.capabilities},
        honour_cache=read.honour_cache,
        answer=read.answer,
        listen=read.listen,
    )


def read_recipe(text: str, *, name: str, file: str, folder: str) -> Server:
    """The server in `text`; raises UsageError as `read_scenario` does."""
    read = _read(text, RecipeFile, file)
    if not read.stdio and read.http is None:
        raise UsageError(f"{file}: neither stdio nor http: there is no way to start {name}")
    return Server(
        name=name,
        about=read.about,
        stdio=read.stdio,
        http=read.http,
        eras=read.eras,
        null_tool=read.null_tool,
        needs=read.needs,
        env=read.env,
        options=read.options,
        cwd=read.cwd,
        folder=folder,
    )


def check_variant(key: str, values: tuple[str, ...], *, where: str) -> None:
    """Raise UsageError where a value is none that the axis knows."""
    for value in values:
        if not VARIANTS[key].has(value):
            hint = nearest(value, VARIANTS[key].values) or "; try: a whole number, 1 or more"
            raise UsageError(f'{where}: {key} "{value}"{hint}')


def _read(text: str, shape: type[T], file: str) -> T:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}{_line_of_error(text, error)}") from error
    _check_keys(data, shape, text, file)
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: {_plain(str(error))}") from error


def _check_keys(data: Mapping[str, Any], shape: type, text: str, file: str) -> None:
    known = [field.name for field in msgspec.structs.fields(shape)]
    for key, value in data.items():
        if key not in known:
            place = _line_of(key, text)
            raise UsageError(f'{file}{place}: unknown key "{key}"{nearest(key, known)}')
        if key in TABLES:
            for table in value if isinstance(value, list) else [value]:
                if isinstance(table, dict):
                    _check_keys(table, TABLES[key], text, file)


def _check_capabilities(capabilities: Mapping[str, Any], text: str, file: str) -> None:
    """What a client may declare (2025-11-25 and 2026-07-28, schema: ClientCapabilities)."""
    for name, value in capabilities.items():
        if name not in CLIENT_CAPABILITIES:
            near = nearest(name, CLIENT_CAPABILITIES)
            raise UsageError(f'{file}{_line_of(name, text)}: no client capability "{name}"{near}')
        if not isinstance(value, dict):
            raise UsageError(f"{file}{_line_of(name, text)}: {name} must be a table, as {{}}")


def _check_step(step: Step, eras: Sequence[EraName], where: str) -> None:
    """A step names a tool or a method, which its eras have."""
    if bool(step.tool) == (step.method != TOOL_CALL):
        raise UsageError(f"{where}: name either a tool or a method")
    if step.params and step.tool:
        raise UsageError(f"{where}: params go with a method; a tool has arguments")
    if step.method in OUR_OWN:
        raise UsageError(
            f"{where}: {step.method} is no step; it is part of every launch, or listen"
        )
    only = ONLY_IN.get(step.method)
    asked = (step.era,) if step.era else eras
    if only is not None and any(era != only for era in asked):
        raise UsageError(f'{where}: only the {only} era has {step.method}; add: era = "{only}"')
    if step.cancel_after_s is not None and step.cancel_after_s <= 0:
        raise UsageError(f"{where}: cancel_after_s must be above 0")


def _check_script(read: ScenarioFile, file: str) -> None:
    for each in read.answer:
        if each.method not in DECLARED:
            near = nearest(each.method, DECLARED)
            raise UsageError(f'{file}: no server asks a client "{each.method}"{near}')
        if each.think_s < 0:
            raise UsageError(f"{file}: think_s of {each.method} must be 0 or more")
    for key, value in read.listen.items():
        if key not in LISTEN:
            raise UsageError(f'{file}: listen has no "{key}"{nearest(key, LISTEN)}')
        if not isinstance(value, LISTEN[key]):
            raise UsageError(f"{file}: listen.{key} must be a {LISTEN[key].__name__}")


def _line_of(key: str, text: str) -> str:
    """`:12` for the line on which a key first stands."""
    for number, line in enumerate(text.splitlines(), 1):
        head = line.partition("=")[0].strip().strip("\"'[] ")
        if key in (head, head.rpartition(".")[2]) or f"{{{key} " in line or f" {key} = " in line:
            return f":{number}"
    return ""


def _line_of_error(text: str, error: tomllib.TOMLDecodeError) -> str:
    """The text of the line that could not be read, where the message names one."""
    words = str(error).replace(",", "").replace(")", "").split()
    if "line" not in words:
        return ""
    number = words[words.index("line") + 1]
    lines = text.splitlines()
    if not number.isdigit() or int(number) > len(lines):
        return ""
    return f": {lines[int(number) - 1].strip()}"


def _plain(message: str) -> str:
    """`$.call[0].tool` reads better as `call[0].tool`, and before what is wrong with it."""
    what, _, path = message.partition(" - at `$.")
    return f"{path.rstrip('`')}: {what}" if path else what

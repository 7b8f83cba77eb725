"""Find out what a server speaks and which tool to call, on launches that never count."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from bench.errors import BenchError, SetupError, UsageError, nearest
from bench.model import ERAS, Cell, EraName, Limits, Server, Step, Tool, Transport, Turn
from bench.process import Environment
from bench.recorder import Recorder
from bench.session import launch

LEAST_PROBE_S, PROBE_FACTOR = 3.0, 5.0


class Found(NamedTuple):
    """The eras a server speaks, and its tools as it lists them, where it announces any."""

    eras: tuple[EraName, ...]
    tools: tuple[Tool, ...]
    announced: bool


async def find(
    server: Server, eras: Sequence[EraName], limits: Limits, words: Mapping[str, str]
) -> Found:
    """Try each era on a launch of its own; raises the first era's error where none is spoken.

    A server of the other era may keep silent, so once one era has answered, the next one waits
    only a few times as long as that took.
    """
    spoken: list[EraName] = []
    tools: tuple[Tool, ...] = ()
    announced = False
    failures: list[BenchError] = []
    for era in eras:
        turn = Turn(cell=_cell(server, era), launch=0, round=0)
        recorder = Recorder(turn, keep_bodies=False)
        environment = Environment(words=words, limit_s=limits.setup_s)
        try:
            async with launch(server, turn.cell, recorder, environment, limits) as session:
                await session.open()
                opened_ns = recorder.clock()
                tools = await session.tools()
                announced = session.announces("tools")
        except SetupError as error:
            failures.append(error)
            continue
        spoken.append(era)
        took_s = (opened_ns - min(recorder.marks.values())) / 1e9
        patience_s = min(limits.setup_s, max(LEAST_PROBE_S, PROBE_FACTOR * took_s))
        limits = msgspec.structs.replace(limits, setup_s=patience_s)
    if not spoken:
        raise failures[0]
    return Found(tuple(era for era in ERAS if era in spoken), tools, announced)


def choose(tools: Sequence[Tool], name: str | None, arguments: Mapping[str, object]) -> Step:
    """The tool to call: the one named, else the first that needs no arguments.

    UsageError lists the tools with what they need, where none can be called without.
    """
    if name is not None:
        names = [tool.name for tool in tools]
        if name not in names:
            raise UsageError(f'the server has no tool "{name}"{nearest(name, names)}')
        return Step(tool=name, arguments=arguments)
    for tool in tools:
        if not _required(tool):
            return Step(tool=tool.name)
    if not tools:
        raise UsageError("the server lists no tools: there is nothing to call")
    listed = "\n".join(f"  {_asked(tool)}" for tool in tools)
    raise UsageError(f"every tool needs arguments; choose one, with values of your own:\n{listed}")


def _cell(server: Server, era: EraName) -> Cell:
    transport: Transport = server.transports[0]
    return Cell(name="finding", scenario="", server=server.name, transport=transport, era=era)


EXAMPLES: Mapping[str, object] = {
    "string": "…",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def _asked(tool: Tool) -> str:
    """The options that call it, with a value of the right type for each argument it requires."""
    given = {name: EXAMPLES.get(kind, "…") for name, kind in _required(tool).items()}
    return f"--tool {tool.name} --args '{json.dumps(given, ensure_ascii=False)}'"


def _required(tool: Tool) -> dict[str, str]:
    """The arguments that the tool's schema requires, each with its type."""
    properties = tool.inputSchema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = tool.inputSchema.get("required")
    listed = required if isinstance(required, list) else []
    return {name: _type(known.get(name)) for name in listed if isinstance(name, str)}


def _type(schema: object) -> str:
    """What a schema says of its type; `true` is a schema too (JSON Schema 2020-12, 4.3.2)."""
    return str(schema.get("type", "any")) if isinstance(schema, dict) else "any"

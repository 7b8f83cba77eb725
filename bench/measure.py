"""The verbs' work without their words: a run measured and stored, a launch traced."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import msgspec

from bench import catalog, finder, host, needs, prepare, redact, runner, store, summary, tables
from bench.drive import Watcher
from bench.errors import BenchError, UsageError, nearest
from bench.model import Message, Server, Turn
from bench.prepare import Prepared, Wish, words_of
from bench.process import Environment
from bench.recorder import Recorder
from bench.runner import Ended
from bench.session import launch


class Measured(NamedTuple):
    """A finished run: where it is, what it says, and what kept cells from being measured."""

    path: Path
    document: Mapping[str, Any]
    failed: Mapping[str, BenchError]


class Traced(NamedTuple):
    """The messages of one launch, and what ended it where that was an error."""

    messages: list[Message]
    error: str | None


def loop_options() -> dict[str, Any]:
    """uvloop where it is installed: it reads a pipe in two thirds of asyncio's time."""
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return {}
    return {"use_uvloop": True}


def measure(wish: Wish, out: Path, watcher: Watcher) -> Measured:
    """Plan, run and store; a cell that could not be measured is among the failed."""
    return anyio.run(_measure, wish, out, watcher, backend_options=loop_options())


async def _measure(wish: Wish, out: Path, watcher: Watcher) -> Measured:
    with _cleaned([wish.target] if wish.target is not None else []):
        prepared = await prepare.prepare(wish)
    path = store.create(out, prepared.name)
    secrets = [each for one in prepared.job.servers.values() for each in redact.secrets_of(one)]
    writer = store.Writer(path, _meta(prepared), secrets=secrets)
    ended = Ended("interrupted", {})
    try:
        ended = await runner.run(prepared.turns, prepared.job, writer, watcher)
    finally:
        for error in ended.failed.values():
            error.args = (redact.text(str(error), secrets),)
        failed = {name: str(error) for name, error in ended.failed.items()}
        writer.close(ended.status, failed=failed)
    return Measured(path, summary.document(store.read(path)), ended.failed)


@contextlib.contextmanager
def _cleaned(servers: Sequence[Server]) -> Iterator[None]:
    """An error that leaves here says nothing that must not be kept."""
    try:
        yield
    except BenchError as error:
        hidden = [value for server in servers for value in redact.secrets_of(server)]
        error.args = (redact.text(str(error), hidden),)
        raise


def _meta(prepared: Prepared) -> dict[str, Any]:
    """What run.json says from the start: names of variables and headers, never their values."""
    job = prepared.job
    return {
        "scenario": prepared.name,
        "seed": prepared.seed,
        "host": host.facts(),
        "placement": msgspec.to_builtins(job.placement),
        "limits": msgspec.to_builtins(job.limits),
        "cells": [
            {
                "cell": cell.name,
                "scenario": cell.scenario,
                "server": cell.server,
                "transport": cell.transport,
                "era": cell.era,
                "variant": dict(cell.variant),
            }
            for cell in prepared.cells
        ],
        "scenarios": [msgspec.to_builtins(each) for each in job.scenarios.values()],
        "servers": [_recipe(each) for each in job.servers.values()],
        "warnings": [],
    }


def _recipe(server: Server) -> dict[str, Any]:
    known: dict[str, Any] = msgspec.to_builtins(server)
    known.pop("folder")
    known["env"] = sorted(server.env)
    known["headers"] = sorted(name for name, _ in server.headers)
    known["stdio"] = redact.words(server.stdio)
    if server.http is not None:
        known["http"]["env"] = sorted(server.http.env)
        known["http"]["url"] = redact.url(server.http.url)
        known["http"]["command"] = redact.words(server.http.command)
    return known


def trace(wish: Wish, name: str | None, cell: str | None) -> Traced:
    """The messages of a stored run's cell, or of a fresh launch of a server."""
    if name is not None and Path(name).is_dir():
        return _stored(Path(name), cell)
    server = wish.target
    if server is None:
        if name is None:
            raise UsageError("trace what? say a results folder, a server, --url URL or -- COMMAND")
        server = catalog.server(name)
    return anyio.run(_trace, server, wish, backend_options=loop_options())


async def _trace(server: Server, wish: Wish) -> Traced:
    """Connect, discover and call once; whatever stops it, what was exchanged is shown."""
    made = prepare.one_cell(server, wish)
    recorder = Recorder(Turn(cell=made, launch=0, round=0), keep_bodies=True)
    environment = Environment(words=words_of(server), limit_s=wish.limits.setup_s)
    error = None
    try:
        async with launch(server, made, recorder, environment, wish.limits) as session:
            await session.open()
            tools = await session.tools()
            asked = prepare.known_call(server, wish)
            asked = asked or finder.choose(tools, wish.tool, wish.arguments or {})
            reply = await session.call(session.request(asked.tool, asked.arguments))
            error = f"{reply.why}{await session.why_gone()}" if reply.received_ns is None else None
    except UsageError:
        raise
    except BenchError as caught:
        error = str(caught)
    hidden = redact.secrets_of(server)
    kept = [
        msgspec.structs.replace(each, body=redact.text(each.body or "", hidden))
        for each in recorder.transcript
    ]
    error = None if error is None else redact.text(error, hidden)
    return Traced(sorted(kept, key=lambda message: message.at_ns), error)


def _stored(path: Path, cell: str | None) -> Traced:
    run = store.read(path)
    names = [each["cell"] for each in run.meta["cells"]]
    wanted = cell or names[0]
    if wanted not in names:
        raise UsageError(f'no cell "{wanted}" in {path}{nearest(wanted, names)}')
    rows = run.launch_table.to_pylist()
    first = next((row for row in rows if row["cell"] == wanted and row["round"] == 0), None)
    if first is None:
        raise BenchError(f"{path} has no launch of {wanted}")
    kept = [
        msgspec.convert({k: v for k, v in line.items() if k != "launch"}, Message)
        for line in store.transcript(path)
        if line["launch"] == first["launch"]
    ]
    error = tables.details(first)["facts"].get("error")
    return Traced(sorted(kept, key=lambda message: message.at_ns), error)


def known() -> dict[str, Any]:
    """The scenarios and servers of `list`, with what a server still needs."""
    return {
        "scenarios": [
            {"name": name, "about": catalog.scenario(name).about}
            for name in catalog.scenario_files()
        ],
        "servers": [_known_server(catalog.server(name)) for name in catalog.recipe_files()],
    }


def _known_server(server: Server) -> dict[str, Any]:
    folder = None if server.folder is None else Path(server.folder)
    return {
        "name": server.name,
        "about": server.about,
        "transports": list(server.transports),
        "eras": list(server.eras),
        "needs": msgspec.to_builtins(server.needs),
        "missing": needs.missing(server.name, folder, server.needs),
    }

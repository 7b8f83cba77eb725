"""The verbs' work without their words: a run measured and stored, what is known listed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import msgspec

from bench import catalog, host, needs, outdoors, prepare, redact, runner, store, summary
from bench.drive import Watcher
from bench.errors import BenchError
from bench.model import Server
from bench.prepare import Prepared, Wish
from bench.runner import Ended


class Measured(NamedTuple):
    """A finished run: where it is, what it says, and what kept cells from being measured."""

    path: Path
    document: Mapping[str, Any]
    failed: Mapping[str, BenchError]


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
    with cleaned([wish.target] if wish.target is not None else []):
        prepared = await prepare.prepare(wish)
    path = store.create(out, prepared.name)
    secrets = [each for one in prepared.job.servers.values() for each in redact.secrets_of(one)]
    writer = store.Writer(path, meta(prepared), secrets=secrets)
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
def cleaned(servers: Sequence[Server]) -> Iterator[None]:
    """An error that leaves here says nothing that must not be kept."""
    try:
        yield
    except BenchError as error:
        hidden = [value for server in servers for value in redact.secrets_of(server)]
        error.args = (redact.text(str(error), hidden),)
        raise


def meta(prepared: Prepared) -> dict[str, Any]:
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
                "protocol_version": cell.protocol_version,
            }
            for cell in prepared.cells
        ],
        "scenarios": [msgspec.to_builtins(each) for each in job.scenarios.values()],
        "servers": [redact.recipe(each) for each in job.servers.values()],
        "warnings": [*outdoors.unused_proxies(os.environ, remote=_is_remote(job.servers))],
    }


def _is_remote(servers: Mapping[str, Server]) -> bool:
    """Whether one of them runs already, wherever that is."""
    return any(each.http is not None and not each.http.command for each in servers.values())


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

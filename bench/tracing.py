"""A launch traced: a fresh one, one of a stored run, or one that was saved for a bug report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec

from bench import catalog, finder, host, prepare, redact, store, tables, tracefile
from bench.errors import BenchError, UsageError, nearest
from bench.measure import loop_options
from bench.model import Message, Server, Turn
from bench.prepare import Wish, words_of
from bench.process import Environment
from bench.recorder import Recorder
from bench.session import Session, launch
from bench.tracefile import Traced

HOST = ("cpu", "cores", "python", "system", "versions")
COUNTS = ("duplicate_replies", "stray_replies", "server_requests", "version_retries", "reconnects")


def trace(wish: Wish, name: str | None, cell: str | None) -> Traced:
    """The messages of a stored run's cell, of a saved trace, or of a fresh launch of a server."""
    if name is not None and Path(name).is_dir():
        return _stored(Path(name), cell)
    if name is not None and Path(name).is_file():
        return _saved(Path(name))
    server = wish.target
    if server is None:
        if name is None:
            raise UsageError("trace what? say a results folder, a server, --url URL or -- COMMAND")
        server = catalog.server(name)
    return anyio.run(_trace, server, wish, backend_options=loop_options())


def save(traced: Traced, path: Path) -> None:
    """Write it for a bug report: redacted, with the versions of what ran; whole or not at all."""
    facts = host.facts()
    known = {key: facts[key] for key in HOST if key in facts}
    clean = tracefile.cleaned(traced, redact.secrets_in(os.environ))
    text = tracefile.text(clean, known)
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(text, "utf-8")
        os.replace(fresh, path)
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror}") from error


async def _trace(server: Server, wish: Wish) -> Traced:
    """Connect, discover and call once; whatever stops it, what was exchanged is shown."""
    made = prepare.one_cell(server, wish)
    recorder = Recorder(Turn(cell=made, launch=0, round=0), keep_bodies=True)
    environment = Environment(words=words_of(server), limit_s=wish.limits.setup_s)
    error = None
    try:
        async with launch(server, made, recorder, environment, wish.limits) as session:
            error = await _called(session, server, wish)
    except UsageError:
        raise
    except BenchError as caught:
        error = str(caught)
    about = {
        "server": redact.recipe(server),
        "transport": made.transport,
        "era": made.era,
        "opening": made.variant.get("opening", "known"),
    }
    known = _facts(recorder.facts, recorder.counts)
    messages = sorted(recorder.transcript, key=lambda message: message.at_ns)
    secrets = (*redact.secrets_of(server), *redact.secrets_in(os.environ))
    return tracefile.cleaned(Traced(messages, error, known, about), secrets)


async def _called(session: Session, server: Server, wish: Wish) -> str | None:
    """Open, list and call; why the call had no reply. No tools announced: nothing to call."""
    scenario = prepare.known_scenario(server, wish)
    if scenario is not None:
        session.follow(scenario)
    await session.open()
    tools = await session.tools()
    if not session.announces("tools"):
        return None
    asked = scenario.call[0] if scenario is not None and wish.tool is None else None
    try:
        asked = asked or finder.choose(tools, wish.tool, wish.arguments or {})
    except UsageError as error:
        if wish.tool is not None:
            raise
        session.note("not_called", str(error))  # what was exchanged is shown all the same
        return None
    reply = await session.call(session.request(asked))
    return f"{reply.why}{await session.why_gone()}" if reply.received_ns is None else None


def _saved(path: Path) -> Traced:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return tracefile.read(text, file=str(path))


def _stored(path: Path, cell: str | None) -> Traced:
    run = store.read(path)
    asked = {each["cell"]: each for each in run.meta["cells"]}
    wanted = cell or next(iter(asked))
    if wanted not in asked:
        raise UsageError(f'no cell "{wanted}" in {path}{nearest(wanted, asked)}')
    rows = run.launch_table.to_pylist()
    first = next((row for row in rows if row["cell"] == wanted and row["round"] == 0), None)
    if first is None:
        raise BenchError(f"{path} has no launch of {wanted}")
    kept = [
        msgspec.convert({k: v for k, v in line.items() if k != "launch"}, Message)
        for line in store.transcript(path)
        if line["launch"] == first["launch"]
    ]
    details = tables.details(first)
    servers = {each["name"]: each for each in run.meta.get("servers", [])}
    about = {
        "server": servers.get(asked[wanted]["server"], {}),
        "transport": asked[wanted]["transport"],
        "era": asked[wanted]["era"],
        "host": {key: value for key, value in run.meta.get("host", {}).items() if key in HOST},
    }
    known = _facts(details["facts"], details["counts"])
    messages = sorted(kept, key=lambda message: message.at_ns)
    return Traced(messages, details["facts"].get("error"), known, about)


def _facts(facts: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """What a launch noted beside its messages, without the error, which stands by itself."""
    noted = {name: value for name, value in facts.items() if name != "error"}
    return noted | {name: counts[name] for name in COUNTS if name in counts}

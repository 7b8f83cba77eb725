"""The verbs: words of the command line in, text and an exit code out."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from bench.errors import COULD_NOT, FINE, INTERRUPTED, INVALID, BenchError, UsageError
from bench.options import Verb, parser

if TYPE_CHECKING:
    from pathlib import Path

    from bench.model import Limits, Server
    from bench.prepare import Wish
    from bench.store import Run


VARIED = ("session", "response", "connection", "client")
AUDIT_ROUNDS = 3


def entry() -> NoReturn:
    """The program `mcp-latency`; whoever tells it to end does so as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one verb; what is wrong in the user's world ends as words on stderr and a code."""
    words, command = _split(argv)
    try:
        options = parser(VERBS).parse_args(words)
        options.command = command
        code: int = options.verb(options)
        return code
    except BenchError as error:
        print(f"mcp-latency: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE


def _split(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """What stands before `--`, and the command after it."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _run(options: argparse.Namespace) -> int:
    from bench import measure
    from bench.report.progress import watcher

    if options.config is not None and options.server is None:
        _refuse_beside_audit(options)
        return _audit(options)
    with watcher() as watching:
        measured = measure.measure(_wish(options), options.out, watching)
    if options.json or any(cell["launches"] for cell in measured.document["cells"]):
        _show(measured.document, options, as_json=options.json)
    for name, error in measured.failed.items():
        print(f"mcp-latency: {name}: {error}", file=sys.stderr)
    print(measured.path, file=sys.stderr)
    return _code(measured.document, measured.failed)


def _audit(options: argparse.Namespace) -> int:
    from bench import audit
    from bench.measure import loop_options
    from bench.report import startup

    document = audit.run(
        _listed(options),
        loop_options(),
        rounds=options.launches or AUDIT_ROUNDS,
        limits=_limits(options),
    )
    _say(document, startup.render, as_json=options.json)
    return COULD_NOT if any(row["failed"] for row in document["servers"]) else FINE


def _refuse_beside_audit(options: argparse.Namespace) -> None:
    """The audit starts all servers as a client would; what does not fit that is said."""
    unfit = {
        "--url": options.url,
        "-- COMMAND": options.command,
        "SCENARIO": options.scenario,
        "--era": options.era,
        "--transport": options.transport,
        "--tool": options.tool,
        "--client": options.client,
    }
    for word, given in unfit.items():
        if given:
            raise UsageError(f"{word} does not go with an audit; name one server with --server")


def _listed(options: argparse.Namespace) -> tuple[Server, ...]:
    """The servers of the --config file."""
    from bench import config

    file = str(options.config)
    try:
        text = options.config.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    return config.read_config(text, file=file, variables=os.environ)


def _target(options: argparse.Namespace) -> Server | None:
    """The server that --, --url or --config with --server names; UsageError where two do."""
    from bench import config, target

    named = {
        "-- COMMAND": options.command is not None,
        "--url": bool(options.url),
        "--config": options.config is not None,
    }
    if options.server is not None and options.config is None:
        raise UsageError("--server goes with --config FILE; name a known server as it is")
    if options.header and not options.url:
        raise UsageError("--header goes with --url; a server list has its own headers")
    given = [word for word, there in named.items() if there]
    if len(given) > 1:
        raise UsageError(f"both {given[0]} and {given[1]}: name one server")
    if options.command is not None:
        return target.from_command(options.command)
    if options.config is not None:
        if options.server is None:
            raise UsageError("--config lists several servers; name one with --server")
        return config.choose(_listed(options), options.server, file=str(options.config))
    if options.url:
        headers = tuple(target.header(text) for text in options.header)
        return target.from_url(options.url, headers)
    return None


def _limits(options: argparse.Namespace) -> Limits:
    from bench.model import Limits

    return Limits(call_s=options.timeout, setup_s=options.setup_timeout)


def _code(document: Mapping[str, Any], failed: Mapping[str, BenchError]) -> int:
    """Interrupted, then what kept a cell from being measured, then invalid, then fine."""
    if document["status"] == "interrupted":
        return INTERRUPTED
    if failed:
        return max(error.exit_code for error in failed.values())
    return FINE if all(_believed(cell) for cell in document["cells"]) else INVALID


def _believed(cell: Mapping[str, Any]) -> bool:
    """There were calls, no call or launch failed, and our client did not set the pace."""
    failed = cell["failed_calls"] or cell["failed_launches"] or cell["client_bound"]
    return bool(cell["calls"] and not failed)


def _report(options: argparse.Namespace) -> int:
    from bench import store, summary
    from bench.report import FORMATS

    run = store.read(options.run)
    document = summary.document(run)
    if options.form == "html":
        text = _page(run, document)
    elif options.out is not None or options.form == "markdown":
        text = FORMATS.get(options.form, _as_json)(document)
    else:
        _show(document, options, as_json=options.form == "json")
        return FINE
    if options.out is None:
        print(text, end="")
    else:
        _write(options.out, text)
    return FINE


def _page(run: Run, document: Mapping[str, Any]) -> str:
    from bench import sessions
    from bench.report import html

    return html.render(html.Told(document, run.meta, sessions.of(run)))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; try: -o FILE") from error


def _trace(options: argparse.Namespace) -> int:
    from bench import measure
    from bench.report import trace

    traced = measure.trace(_wish(options), options.run, options.cell)
    if options.json:
        print(_as_json(trace.document(traced.messages, traced.error)))
    else:
        print(trace.render(traced.messages, full=options.full, error=traced.error), end="")
    return COULD_NOT if traced.error else FINE


def _list(options: argparse.Namespace) -> int:
    from bench import measure
    from bench.report import listing

    _say(measure.known(), listing.render, as_json=options.json)
    return FINE


def _doctor(options: argparse.Namespace) -> int:
    from bench import doctor
    from bench.measure import loop_options
    from bench.report import health

    document = doctor.run(loop_options())
    _say(document, health.render, as_json=options.json)
    return FINE


def _wish(options: argparse.Namespace) -> Wish:
    from bench.prepare import Wish

    given = vars(options)
    transport = given.get("transport") or ()
    return Wish(
        names=given.get("scenario", ()),
        target=_target(options),
        transport=(transport,) if isinstance(transport, str) else transport,
        era=options.era,
        variants={key: given[key] for key in VARIED if given.get(key)},
        protocol=options.protocol,
        tool=options.tool,
        arguments=options.args,
        calls=given.get("calls"),
        launches=given.get("launches"),
        warmup=given.get("warmup"),
        quick=given.get("quick", False),
        seed=given.get("seed"),
        pin=given.get("pin", "auto"),
        probe=given.get("probe"),
        spans=given.get("spans", False),
        limits=_limits(options),
    )


def _show(document: Mapping[str, Any], options: argparse.Namespace, *, as_json: bool) -> None:
    if as_json:
        print(_as_json(document))
        return
    import shutil

    from bench.report import terminal

    colour = options.colour and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((160, 24)).columns
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    print(terminal.render(document, width=width, colour=colour, plain=plain), end="")


def _say(
    document: Mapping[str, Any],
    render: Callable[[Mapping[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    print(f"{_as_json(document)}\n" if as_json else render(document), end="")


def _as_json(document: object) -> str:
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)


VERBS: Mapping[str, Verb] = {
    "run": _run,
    "report": _report,
    "trace": _trace,
    "list": _list,
    "doctor": _doctor,
}

"""The words of the command line: verbs, options, what they may be, and their help."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from bench.errors import USAGE

Verb: TypeAlias = Callable[[argparse.Namespace], int]

EXAMPLES = """\
examples:
  mcp-latency run                               the ticket server, every transport and era
  mcp-latency run -- python my_server.py        your own server over stdio
  mcp-latency run --url http://127.0.0.1:8000/mcp
  mcp-latency run tickets --transport stdio,http --era stateful --launches 20
  mcp-latency trace -- python my_server.py      what really goes over the wire
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Wrong usage is exit code 64 (contract), not argparse's 2."""
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(USAGE)


def parser(verbs: Mapping[str, Verb]) -> argparse.ArgumentParser:
    """The whole parser; a parsed verb's work is `verb` of the result."""
    words = _Parser(
        prog="mcp-latency",
        description="Where the time goes when software talks to an MCP server.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = words.add_subparsers(title="verbs", required=True, metavar="VERB")
    for name, add in VERBS.items():
        add(known).set_defaults(verb=verbs[name])
    return words


def _verb(
    verbs: Any, name: str, about: str, *, epilog: str = "", words: str | None = None
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        usage=f"mcp-latency {name} {words}" if words else None,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return verb


def _add_target(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--url", help="a server that runs already, over Streamable HTTP")
    verb.add_argument(
        "--config", type=Path, help="a client's server list (mcpServers or servers, as JSON)"
    )
    verb.add_argument(
        "--server", help="the one of --config; `run` without it audits the starts of all"
    )
    verb.add_argument(
        "-H", "--header", action="append", default=[], help="'Name: value' for each request"
    )
    verb.add_argument("--era", type=_commas, default=(), help="stateful,stateless")
    verb.add_argument("--protocol", help="a protocol version, e.g. 2025-06-18")
    verb.add_argument("--tool", help="the tool to call")
    verb.add_argument("--args", type=_json_object, help="its arguments, as a JSON object")
    verb.add_argument("--timeout", type=_seconds, default=30.0, help="seconds a call may take")
    verb.add_argument(
        "--setup-timeout", type=_seconds, default=30.0, help="seconds each step of a setup may take"
    )
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")


def _add_run(verbs: Any) -> argparse.ArgumentParser:
    verb = _verb(
        verbs,
        "run",
        "measure; writes one results folder and prints the summary",
        epilog=EXAMPLES,
        words="[SCENARIO…] [-- COMMAND ARG… | --url URL] [options]",
    )
    verb.add_argument("scenario", nargs="*", help="scenarios or servers of `list`, or a .toml file")
    _add_target(verb)
    verb.add_argument("--transport", type=_commas, default=(), help="stdio,http")
    verb.add_argument("--session", type=_commas, default=(), help="kept,none (HTTP, stateful)")
    verb.add_argument("--response", type=_commas, default=(), help="json,sse (HTTP)")
    verb.add_argument("--connection", type=_commas, default=(), help="keep-alive,per-call (HTTP)")
    verb.add_argument(
        "--client",
        type=_commas,
        default=(),
        help="wire (ours), sdk (the official one, pinned and lean), sdk-auto (its defaults)",
    )
    verb.add_argument("-n", "--calls", type=_at_least_one, help="steady calls per launch")
    verb.add_argument("-r", "--launches", type=_at_least_one, help="launches per cell")
    verb.add_argument("-w", "--warmup", type=_count, help="calls between the first and the steady")
    verb.add_argument("--quick", action="store_true", help="few launches and calls: a first look")
    verb.add_argument("--pin", default="auto", help="cores: auto, none, or CLIENT:SERVER like 0:1")
    verb.add_argument("--probe", help="see inside the server: auto (the default), off, both")
    verb.add_argument(
        "--spans",
        action="store_true",
        help="receive OpenTelemetry spans from the server on loopback and use them where no probe "
        "sees the work; puts a traceparent into each call's _meta, so requests get longer",
    )
    verb.add_argument("--seed", type=int, help="of the order of launches and of the bootstrap")
    verb.add_argument("-o", "--out", type=Path, default=Path("results"), help="where results go")
    _add_colour(verb)
    return verb


def _add_report(verbs: Any) -> argparse.ArgumentParser:
    verb = _verb(verbs, "report", "show a run again, without measuring")
    verb.add_argument("run", type=Path, help="a results folder")
    verb.add_argument(
        "--format",
        choices=("terminal", "markdown", "json", "html"),
        default="terminal",
        dest="form",
        help="html is one page without a network, to look at and to send",
    )
    verb.add_argument("--json", action="store_const", const="json", dest="form", help="as --format")
    verb.add_argument("-o", "--out", type=Path, help="a file instead of stdout")
    _add_colour(verb)
    return verb


def _add_colour(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--no-color", action="store_false", dest="colour", help="as NO_COLOR in the environment"
    )


def _add_trace(verbs: Any) -> argparse.ArgumentParser:
    verb = _verb(
        verbs,
        "trace",
        "the messages of one launch, and what the last one says",
        words="[RUN | SERVER | --url URL | -- COMMAND ARG…] [options]",
    )
    verb.add_argument("run", nargs="?", help="a results folder, or a server of `list`")
    _add_target(verb)
    verb.add_argument("--transport", choices=("stdio", "http"), help="for a server that has both")
    verb.add_argument("--cell", help="which cell of a run; the first one otherwise")
    verb.add_argument("--full", action="store_true", help="whole bodies")
    return verb


def _add_list(verbs: Any) -> argparse.ArgumentParser:
    verb = _verb(verbs, "list", "the scenarios and servers known here")
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return verb


def _commas(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number')
    return int(text)


def _at_least_one(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds')
    return value


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return value


def _add_doctor(verbs: Any) -> argparse.ArgumentParser:
    verb = _verb(verbs, "doctor", "is this machine fit to measure: clock, cores, load, floors")
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return verb


VERBS: Mapping[str, Callable[[Any], argparse.ArgumentParser]] = {
    "run": _add_run,
    "report": _add_report,
    "trace": _add_trace,
    "list": _add_list,
    "doctor": _add_doctor,
}

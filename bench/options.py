"""The words of the command line: verbs, options, what they may be, and their help."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from bench import judging
from bench.errors import USAGE, nearest
from bench.judging import add_call, added
from bench.values import at_least_one, commas, count

FOREIGN = (
    "pyperf",
    "perfetto",
    "bencher",
    "github-action-benchmark",
    "junit",
    "csv",
    "hgrm",
)  # the keys of bench.export.EXPORTS, which takes half a second to import
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
    verbs: Mapping[str, argparse.ArgumentParser] = {}

    def error(self, message: str) -> NoReturn:
        """Wrong usage is exit code 64, not argparse's 2: that is `cannot tell`."""
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}{self._meant(message)}", file=sys.stderr)
        sys.exit(USAGE)

    def _meant(self, message: str) -> str:
        """The option of the verb that an unknown one is closest to."""
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        verb = next((self.verbs[word] for word in sys.argv if word in self.verbs), None)
        if unknown is None or verb is None:
            return ""
        return nearest(unknown[1], re.findall(r"--[a-z][a-z-]*", verb.format_help()))


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
    words.verbs = known.choices
    return words


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
    verb.add_argument("--ca", help="a file of certificates to trust (https)")
    verb.add_argument("--proxy", help="an HTTP proxy; none of the environment is used")
    verb.add_argument("--era", type=commas, default=(), help="stateful,stateless")
    verb.add_argument("--protocol", help="a protocol version, e.g. 2025-06-18")
    verb.add_argument(
        "--opening",
        type=commas,
        default=(),
        help="known (the era's own), direct (no server/discover before), find (both eras tried)",
    )
    add_call(verb)
    verb.add_argument(
        "--max-message", type=at_least_one, help="bytes that one message may have (64 MiB)"
    )
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")


def _add_run(verbs: Any) -> argparse.ArgumentParser:
    verb = added(
        verbs,
        "run",
        "measure; writes one results folder and prints the summary",
        epilog=EXAMPLES,
        words="[SCENARIO…] [-- COMMAND ARG… | --url URL] [options]",
    )
    verb.add_argument("scenario", nargs="*", help="scenarios or servers of `list`, or a .toml file")
    _add_target(verb)
    _add_axes(verb)
    verb.add_argument("-n", "--calls", type=at_least_one, help="steady calls per launch (100)")
    verb.add_argument("-r", "--launches", type=at_least_one, help="launches per cell (10)")
    verb.add_argument("-w", "--warmup", type=count, help="calls between first and steady (5)")
    verb.add_argument("--quick", action="store_true", help="9 launches of 20 calls: a first look")
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


def _add_axes(verb: argparse.ArgumentParser) -> None:
    """What makes cells: values between commas."""
    verb.add_argument("--transport", type=commas, default=(), help="stdio,http")
    verb.add_argument("--session", type=commas, default=(), help="kept,none (HTTP, stateful)")
    verb.add_argument("--response", type=commas, default=(), help="json,sse (HTTP)")
    verb.add_argument("--connection", type=commas, default=(), help="keep-alive,per-call (HTTP)")
    verb.add_argument(
        "--ack",
        type=commas,
        default=(),
        help="delayed,quick: how we acknowledge (HTTP, Linux)",
    )
    verb.add_argument(
        "--policy",
        type=commas,
        default=(),
        help="reuse (a launch makes all its calls), one-per-call (a start for each call)",
    )
    verb.add_argument(
        "--catalogue",
        type=commas,
        default=(),
        help="so many tools listed, e.g. 1,10,100 (servers with an option for it)",
    )
    verb.add_argument(
        "--client",
        type=commas,
        default=(),
        help="wire (ours), sdk (the official one, pinned and lean), sdk-auto (its defaults)",
    )


def _add_report(verbs: Any) -> argparse.ArgumentParser:
    verb = added(verbs, "report", "show a run again, without measuring")
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


def _add_export(verbs: Any) -> argparse.ArgumentParser:
    verb = added(verbs, "export", "a run in the format of another program")
    verb.add_argument("run", type=Path, help="a results folder")
    verb.add_argument("--to", choices=FOREIGN, required=True, help="the format")
    verb.add_argument("--cell", help="one cell of the run; all of them otherwise")
    verb.add_argument("-o", "--out", type=Path, help="a file instead of stdout")
    verb.add_argument("--json", action="store_true", help="the text inside one JSON document")
    return verb


def _add_trace(verbs: Any) -> argparse.ArgumentParser:
    verb = added(
        verbs,
        "trace",
        "the messages of one launch, and what they say",
        words="[RUN | FILE | SERVER | --url URL | -- COMMAND ARG…] [options]",
    )
    verb.add_argument(
        "run", nargs="?", help="a results folder, a saved trace, or a server of `list`"
    )
    _add_target(verb)
    verb.add_argument("--transport", choices=("stdio", "http"), help="for a server that has both")
    verb.add_argument("--cell", help="which cell of a run; the first one otherwise")
    verb.add_argument(
        "--save", type=Path, help="write it to this file for a bug report, without secrets"
    )
    verb.add_argument("--full", action="store_true", help="whole bodies")
    return verb


def _add_list(verbs: Any) -> argparse.ArgumentParser:
    verb = added(verbs, "list", "the scenarios and servers known here")
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return verb


def _add_doctor(verbs: Any) -> argparse.ArgumentParser:
    verb = added(verbs, "doctor", "is this machine fit to measure: clock, cores, load, floors")
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return verb


VERBS: Mapping[str, Callable[[Any], argparse.ArgumentParser]] = {
    "run": _add_run,
    "report": _add_report,
    "export": _add_export,
    "trace": _add_trace,
    "compare": judging.add_compare,
    "ab": judging.add_ab,
    "aa": judging.add_aa,
    "history": judging.add_history,
    "list": _add_list,
    "doctor": _add_doctor,
}

"""The verbs: words of the command line in, text and an exit code out."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bench.errors import COULD_NOT, FINE, INTERRUPTED, INVALID, USAGE, BenchError, UsageError

if TYPE_CHECKING:
    from bench.prepare import Wish

EXAMPLES = """\
examples:
  mcp-latency run                               the ticket server, every transport and era
  mcp-latency run -- python my_server.py        your own server over stdio
  mcp-latency run --url http://127.0.0.1:8000/mcp
  mcp-latency run tickets --transport stdio,http --era stateful --launches 20
  mcp-latency trace -- python my_server.py      what really goes over the wire
"""


def entry() -> NoReturn:
    """The program `mcp-latency`."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one verb; what is wrong in the user's world ends as words on stderr and a code."""
    words, command = _split(argv)
    try:
        options = _parser().parse_args(words)
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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Wrong usage is exit code 64 (contract), not argparse's 2."""
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mcp-latency",
        description="Where the time goes when software talks to an MCP server.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    _add_run(verbs)
    _add_report(verbs)
    _add_trace(verbs)
    _add_list(verbs)
    return parser


def _verb(verbs: Any, name: str, about: str, epilog: str = "") -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return verb


def _add_target(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--url", help="a server that runs already, over Streamable HTTP")
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


def _add_run(verbs: Any) -> None:
    verb = _verb(
        verbs, "run", "measure; writes one results folder and prints the summary", EXAMPLES
    )
    verb.add_argument("scenario", nargs="*", help="scenarios or servers of `list`, or a .toml file")
    _add_target(verb)
    verb.add_argument("--transport", type=_commas, default=(), help="stdio,http")
    verb.add_argument("--session", type=_commas, default=(), help="kept,none (HTTP, stateful)")
    verb.add_argument("--response", type=_commas, default=(), help="json,sse (HTTP)")
    verb.add_argument("-n", "--calls", type=_count, help="steady calls per launch")
    verb.add_argument("-r", "--launches", type=_count, help="launches per cell")
    verb.add_argument("-w", "--warmup", type=_count, help="calls between the first and the steady")
    verb.add_argument("--quick", action="store_true", help="few launches and calls: a first look")
    verb.add_argument("--pin", default="auto", help="cores: auto, none, or CLIENT:SERVER like 0:1")
    verb.add_argument("--seed", type=int, help="of the order of launches and of the bootstrap")
    verb.add_argument("-o", "--out", type=Path, default=Path("results"), help="where results go")
    verb.set_defaults(verb=_run)


def _add_report(verbs: Any) -> None:
    verb = _verb(verbs, "report", "show a run again, without measuring")
    verb.add_argument("run", type=Path, help="a results folder")
    verb.add_argument(
        "--format", choices=("terminal", "markdown", "json"), default="terminal", dest="form"
    )
    verb.add_argument("--json", action="store_const", const="json", dest="form", help="as --format")
    verb.add_argument("-o", "--out", type=Path, help="a file instead of stdout")
    verb.set_defaults(verb=_report)


def _add_trace(verbs: Any) -> None:
    verb = _verb(verbs, "trace", "the messages of one launch, and what the last one says")
    verb.add_argument("run", nargs="?", help="a results folder, or a server of `list`")
    _add_target(verb)
    verb.add_argument("--transport", choices=("stdio", "http"), help="for a server that has both")
    verb.add_argument("--cell", help="which cell of a run; the first one otherwise")
    verb.add_argument("--full", action="store_true", help="whole bodies")
    verb.set_defaults(verb=_trace)


def _add_list(verbs: Any) -> None:
    verb = _verb(verbs, "list", "the scenarios and servers known here")
    verb.add_argument("--json", action="store_true", help="one JSON document on stdout")
    verb.set_defaults(verb=_list)


def _run(options: argparse.Namespace) -> int:
    from bench import measure
    from bench.report.progress import watcher

    with watcher() as watching:
        measured = measure.measure(_wish(options), options.out, watching)
    _show(measured.document, as_json=options.json)
    for name, error in measured.failed.items():
        print(f"mcp-latency: {name}: {error}", file=sys.stderr)
    print(measured.path, file=sys.stderr)
    return _code(measured.document, measured.failed)


def _code(document: Mapping[str, Any], failed: Mapping[str, BenchError]) -> int:
    """Interrupted, then could not run, then invalid, then fine."""
    if document["status"] == "interrupted":
        return INTERRUPTED
    if failed:
        return COULD_NOT
    good = all(
        cell["calls"] == cell["outcomes"]["ok"] and cell["calls"] for cell in document["cells"]
    )
    return FINE if good else INVALID


def _report(options: argparse.Namespace) -> int:
    from bench import store, summary
    from bench.report import FORMATS

    document = summary.document(store.read(options.run))
    if options.out is not None:
        form = FORMATS.get(options.form, _as_json)
        options.out.write_text(form(document), "utf-8")
    elif options.form == "markdown":
        print(FORMATS["markdown"](document), end="")
    else:
        _show(document, as_json=options.form == "json")
    return FINE


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

    known = measure.known()
    if options.json:
        print(_as_json(known))
        return FINE
    for kind in ("scenarios", "servers"):
        print(f"{kind}:")
        for each in known[kind]:
            print(f"  {each['name']:<18} {each['about']}{each.get('missing', '')}")
    return FINE


def _wish(options: argparse.Namespace) -> Wish:
    from bench import target
    from bench.model import Limits
    from bench.prepare import Wish

    given = vars(options)
    if options.command is not None and options.url:
        raise UsageError("both --url and -- COMMAND: name one server")
    server = None
    if options.command is not None:
        server = target.from_command(options.command)
    elif options.url:
        headers = tuple(target.header(text) for text in options.header)
        server = target.from_url(options.url, headers)
    transport = given.get("transport") or ()
    return Wish(
        names=given.get("scenario", ()),
        target=server,
        transport=(transport,) if isinstance(transport, str) else transport,
        era=options.era,
        variants={key: given[key] for key in ("session", "response") if given.get(key)},
        protocol=options.protocol,
        tool=options.tool,
        arguments=options.args,
        calls=given.get("calls"),
        launches=given.get("launches"),
        warmup=given.get("warmup"),
        quick=given.get("quick", False),
        seed=given.get("seed"),
        pin=given.get("pin", "auto"),
        limits=Limits(call_s=options.timeout, setup_s=options.setup_timeout),
    )


def _show(document: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(_as_json(document))
        return
    import shutil

    from bench.report import terminal

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size((160, 24)).columns
    print(terminal.render(document, width=width, colour=colour), end="")


def _as_json(document: object) -> str:
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)


def _commas(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number')
    return int(text)


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

"""The options of the verbs that judge: ab, aa, compare, history."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.values import at_least_one, commas, count, json_object, percent, seconds

AB_EXAMPLES = """\
examples:
  mcp-latency ab --base tickets-python --head 'python server.py'
  mcp-latency ab --base 'git:main -- python server.py' --head 'python server.py'
  mcp-latency ab --base http://127.0.0.1:8000/mcp --head http://127.0.0.1:8001/mcp
  mcp-latency ab --base a --head b --assert 'call.p90 < 5ms' --assert 'setup.p50 < 1s'
"""


def add_ab(verbs: Any) -> argparse.ArgumentParser:
    verb = added(
        verbs,
        "ab",
        "two servers live, block by block: is head slower than base?",
        epilog=AB_EXAMPLES,
        words="[SCENARIO] --base TARGET --head TARGET [options]",
    )
    verb.add_argument("scenario", nargs="?", help="what both are asked: of `list`, or a .toml file")
    verb.add_argument("--base", required=True, help="a command line, a URL, a server of `list`, or")
    verb.add_argument("--head", required=True, help="'git:REVISION -- COMMAND' (a checkout of it)")
    verb.add_argument("--setup", help="a command to run in each checkout first")
    verb.add_argument("--max-blocks", type=at_least_one, help="of more looks, while it is unclear")
    verb.add_argument("--min-effect", type=percent, default=0.02, help="percent that matter (2)")
    verb.add_argument(
        "--assert", action="append", default=[], dest="asserted", help="'call.p99 < 5ms', of head"
    )
    _add_pair(verb)
    return verb


def add_aa(verbs: Any) -> argparse.ArgumentParser:
    verb = added(
        verbs,
        "aa",
        "a server against itself: this machine's false alarms, noise, and what it can tell",
        words="[TARGET] [options]",
    )
    verb.add_argument("target", nargs="?", help="as --base of `ab`; tickets-python otherwise")
    verb.add_argument("--scenario", help="what it is asked: of `list`, or a .toml file")
    _add_pair(verb)
    return verb


def add_compare(verbs: Any) -> argparse.ArgumentParser:
    verb = added(
        verbs,
        "compare",
        "two stored runs, or two values of one axis of one run",
        words="BASE HEAD [options] | RUN --axis AXIS",
    )
    verb.add_argument("base", type=Path, help="a results folder")
    verb.add_argument("head", type=Path, nargs="?", help="the results folder that came later")
    verb.add_argument("--axis", help="what is varied on purpose: era, transport, client, server …")
    verb.add_argument(
        "--force", action="store_true", help="a verdict though host, client or conditions differ"
    )
    verb.add_argument("--format", choices=("terminal", "markdown"), default="terminal", dest="form")
    verb.add_argument("--json", action="store_const", const="json", dest="form", help="as JSON")
    return verb


def add_history(verbs: Any) -> argparse.ArgumentParser:
    verb = added(verbs, "history", "runs over commits: add one, check for steps, show them all")
    actions = verb.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    add = added(actions, "add", "append the lines of a run to the history")
    add.add_argument("run", type=Path, help="a results folder")
    add.add_argument("--commit", help="what was measured; otherwise the commit checked out here")
    check = added(actions, "check", "a verdict on the newest run against its history")
    show = added(actions, "show", "every series, as text and as a picture")
    show.add_argument("-o", "--out", type=Path, help="a picture of the calls (.png, .svg, .pdf)")
    for action in (check, show):
        action.add_argument("--cell", help="only this one")
        action.add_argument("--since", help="a commit: the levels before it are accepted")
    for action in (add, check, show):
        action.add_argument(
            "--file", type=Path, default=Path("results/history.jsonl"), help="the history"
        )
        action.add_argument(
            "--json", action="store_const", const="json", default="terminal", dest="form"
        )
    return verb


def _add_pair(verb: argparse.ArgumentParser) -> None:
    """What `ab` and `aa` have in common."""
    verb.add_argument("--transport", type=commas, default=(), help="stdio or http")
    verb.add_argument("--era", type=commas, default=(), help="stateful or stateless")
    verb.add_argument("--protocol", help="a protocol version, e.g. 2025-06-18")
    verb.add_argument("-n", "--calls", type=at_least_one, help="steady calls per block and side")
    verb.add_argument("-w", "--warmup", type=count, help="calls before them")
    verb.add_argument("--blocks", type=at_least_one, help="process pairs, before the first look")
    verb.add_argument("--quick", action="store_true", help="few blocks and calls: a first look")
    verb.add_argument("--pin", default="auto", help="cores: auto, none, or CLIENT:SERVER like 0:1")
    verb.add_argument("--probe", choices=("auto", "off"), default="auto", help="see inside or not")
    verb.add_argument("-H", "--header", action="append", default=[], help="for a URL, as in `run`")
    add_call(verb)
    verb.add_argument("--seed", type=int, help="of the order of starts and calls")
    verb.add_argument("-o", "--out", type=Path, default=Path("results"), help="where results go")
    verb.add_argument("--format", choices=("terminal", "markdown"), default="terminal", dest="form")
    verb.add_argument("--json", action="store_const", const="json", dest="form", help="as JSON")


def add_call(verb: argparse.ArgumentParser) -> None:
    """What is called, and how long it may take."""
    verb.add_argument("--tool", help="the tool to call")
    verb.add_argument("--args", type=json_object, help="its arguments, as a JSON object")
    verb.add_argument("--timeout", type=seconds, default=30.0, help="seconds a call may take (30)")
    verb.add_argument(
        "--setup-timeout",
        type=seconds,
        default=30.0,
        help="seconds each step of a setup may take (30)",
    )


def added(
    verbs: Any, name: str, about: str, *, epilog: str = "", words: str | None = None
) -> argparse.ArgumentParser:
    """One verb more, with its help."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        usage=f"mcp-latency {name} {words}" if words else None,
        help=about,
        description=f"{about[0].upper()}{about[1:]}" + ("" if about.endswith("?") else "."),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return verb

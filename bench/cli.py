"""The verbs: words of the command line in, text and an exit code out."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from bench import output
from bench.errors import COULD_NOT, FINE, INTERRUPTED, INVALID, BenchError, UsageError
from bench.options import Verb, parser

if TYPE_CHECKING:
    from bench.store import Run

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
        output.complain(error)
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
    from bench import measure, wishes
    from bench.report.progress import watcher
    from bench.report.wording import page

    if options.config is not None and options.server is None:
        _refuse_beside_audit(options)
        return _audit(options)
    with watcher() as watching:
        measured = measure.measure(wishes.wish(options), options.out, watching)
    if options.json or any(cell["launches"] for cell in measured.document["cells"]):
        form = "json" if options.json else "terminal"
        output.show(measured.document, page, form=form, colour=options.colour)
    for name, error in measured.failed.items():
        output.complain(f"{name}: {error}")
    print(measured.path, file=sys.stderr)
    return _code(measured.document, measured.failed)


def _audit(options: argparse.Namespace) -> int:
    from bench import audit, wishes
    from bench.measure import loop_options
    from bench.report import startup

    document = audit.run(
        wishes.listed(options),
        loop_options(),
        rounds=options.launches or AUDIT_ROUNDS,
        limits=wishes.limits(options),
    )
    output.say(document, startup.render, as_json=options.json)
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
        "--opening": options.opening,
    }
    for word, given in unfit.items():
        if given:
            raise UsageError(f"{word} does not go with an audit; name one server with --server")


def _code(document: Mapping[str, Any], failed: Mapping[str, BenchError]) -> int:
    """Interrupted, then what kept a cell from being measured, then invalid, then fine."""
    if document["status"] == "interrupted":
        return INTERRUPTED
    if failed:
        return max(error.exit_code for error in failed.values())
    from bench import summary

    return INVALID if any(summary.unbelieved(cell) for cell in document["cells"]) else FINE


def _report(options: argparse.Namespace) -> int:
    from bench import store, summary
    from bench.report import FORMATS, decision
    from bench.report.wording import page

    run = store.read(options.run)
    document, decided = summary.document(run), store.verdict(options.run)
    if options.form == "html":
        text = _page(run, document, decided)
    elif options.out is not None or options.form == "markdown":
        text = FORMATS.get(options.form, output.json_text)(document)
    else:
        text = None
    if decided is not None and options.form in ("terminal", "markdown") and options.out is None:
        output.show(decided, decision.page, form=options.form, colour=options.colour)
    if text is None:
        output.show(document, page, form=options.form, colour=options.colour)
    elif options.out is None:
        sys.stdout.buffer.write(text.encode())
    else:
        output.write(options.out, text)
    return FINE


def _page(run: Run, document: Mapping[str, Any], decided: Mapping[str, Any] | None) -> str:
    from bench import sessions
    from bench.report import decision, html

    verdict = None if decided is None else decision.page(decided)
    return html.render(html.Told(document, run.meta, sessions.of(run), verdict))


def _compare(options: argparse.Namespace) -> int:
    from bench import versus
    from bench.report.versus import page

    document = versus.document(options.base, options.head, axis=options.axis, force=options.force)
    output.show(document, page, form=options.form)
    return versus.code(document)


def _history(options: argparse.Namespace) -> int:
    from bench import history
    from bench.report.history import PAGES

    document, code = history.ACTIONS[options.action](options)
    output.show(document, PAGES[options.action], form=options.form)
    if vars(options).get("out") is not None:
        from bench.plots.history import save

        save(document, options.out)
    return code


def _export(options: argparse.Namespace) -> int:
    from bench import export

    document = export.export(options.run, options.to, cell=options.cell, out=options.out)
    if options.json:
        print(output.json_text(document))
    elif document["content"] is not None:
        sys.stdout.buffer.write(document["content"].encode())
    return FINE


def _trace(options: argparse.Namespace) -> int:
    from bench import tracing, wishes
    from bench.report import trace

    traced = tracing.trace(wishes.wish(options), options.run, options.cell)
    if options.json:
        print(output.json_text(trace.document(traced)))
    else:
        print(trace.render(traced, full=options.full), end="")
    if options.save is not None:
        tracing.save(traced, options.save)
        print(options.save, file=sys.stderr)
    return COULD_NOT if traced.error else FINE


def _list(options: argparse.Namespace) -> int:
    from bench import measure
    from bench.report import listing

    output.say(measure.known(), listing.render, as_json=options.json)
    return FINE


def _doctor(options: argparse.Namespace) -> int:
    from bench import doctor
    from bench.measure import loop_options
    from bench.report import health

    document = doctor.run(loop_options())
    output.say(document, health.render, as_json=options.json)
    return FINE


def _ab(options: argparse.Namespace) -> int:
    from bench import ab
    from bench.report import decision
    from bench.report.progress import watcher

    with watcher() as watching:
        document, failed = ab.compare(ab.asked(options), options.out, watching)
    if failed is None or options.form == "json":
        output.show(document, decision.page, form=options.form)
    if failed is not None:
        output.complain(failed)
    print(document["path"], file=sys.stderr)
    return ab.code(document) if failed is None else failed.exit_code


def _aa(options: argparse.Namespace) -> int:
    from bench import aa
    from bench.report import decision
    from bench.report.progress import watcher

    with watcher() as watching:
        document = aa.certify(aa.asked(options), options.out, watching)
    output.show(document, decision.certificate, form=options.form)
    return aa.code(document)


VERBS: Mapping[str, Verb] = {
    "run": _run,
    "report": _report,
    "export": _export,
    "trace": _trace,
    "compare": _compare,
    "ab": _ab,
    "aa": _aa,
    "history": _history,
    "list": _list,
    "doctor": _doctor,
}

"""The options of the command line to what is wished: a target, limits, and all else of a run."""

from __future__ import annotations

import argparse
import os

from bench import config
from bench import target as targets
from bench.errors import UsageError
from bench.model import Limits, Server
from bench.prepare import Wish
from bench.variants import OPTIONS


def wish(options: argparse.Namespace) -> Wish:
    """All that was asked of a run."""
    given = vars(options)
    transport = given.get("transport") or ()
    return Wish(
        names=given.get("scenario", ()),
        target=target(options),
        transport=(transport,) if isinstance(transport, str) else transport,
        era=options.era,
        variants={key: given[key] for key in OPTIONS if given.get(key)},
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
        limits=limits(options),
    )


def target(options: argparse.Namespace) -> Server | None:
    """The server that --, --url or --config with --server names; UsageError where two do."""
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
        return targets.from_command(options.command)
    if options.config is not None:
        if options.server is None:
            raise UsageError("--config lists several servers; name one with --server")
        return config.choose(listed(options), options.server, file=str(options.config))
    if options.url:
        headers = tuple(targets.header(text) for text in options.header)
        return targets.from_url(options.url, headers, ca=options.ca, proxy=options.proxy)
    return None


def listed(options: argparse.Namespace) -> tuple[Server, ...]:
    """The servers of the --config file."""
    file = str(options.config)
    try:
        text = options.config.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    return config.read_config(text, file=file, variables=os.environ)


def limits(options: argparse.Namespace) -> Limits:
    """How long, and how many bytes."""
    usual = Limits(call_s=options.timeout, setup_s=options.setup_timeout)
    if options.max_message is None:
        return usual
    return Limits(usual.call_s, usual.setup_s, options.max_message)

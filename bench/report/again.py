"""The command that measures a run again, from what the run says of itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.model import OWN, Limits
from bench.variants import OPTIONS

COUNTS = {"launches": "--launches", "calls": "--calls", "warmup": "--warmup"}
AXES = ("transport", "era", *OPTIONS)
SIDES = ("client", "server")
LIMITS = {"call_s": "--timeout", "setup_s": "--setup-timeout", "message_bytes": "--max-message"}


def command(meta: Mapping[str, Any]) -> str:
    """One line for a shell; an empty one where the run does not say what was asked.

    `meta` is run.json: what it hides (secret options) stands there as it does in it.
    """
    scenarios, servers = meta.get("scenarios", ()), meta.get("servers", ())
    if not scenarios or not servers:
        return ""
    own = [each for each in scenarios if each["name"] == OWN]
    words = ["mcp-latency", "run", *(each["name"] for each in scenarios if each not in own)]
    words += _asked(meta, scenarios)
    for scenario in own:
        words += _tool(scenario["call"][0])
        words += _target(next(each for each in servers if each["name"] in scenario["servers"]))
    return shlex.join(words)


def needed(meta: Mapping[str, Any]) -> list[str]:
    """What the command needs beside itself: names whose values a run never keeps."""
    found = []
    for server in meta.get("servers", ()):
        http = server.get("http") or {}
        names = [*server.get("env", ()), *http.get("env", ())]
        if names:
            found.append(f"{server['name']}: variables {', '.join(names)}")
        if server.get("cwd"):
            found.append(f"{server['name']}: started in {server['cwd']}")
        if server.get("headers"):
            found.append(f"{server['name']}: headers {', '.join(server['headers'])} (--header)")
    return found


def _asked(meta: Mapping[str, Any], scenarios: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for key, option in COUNTS.items():
        values = {each[key] for each in scenarios}
        if len(values) == 1:
            yield from (option, str(values.pop()))
    for axis in AXES:
        asked = dict.fromkeys(cell.get(axis, cell["variant"].get(axis)) for cell in meta["cells"])
        if known := [value for value in asked if value]:
            yield from (f"--{axis}", ",".join(known))
    versions = {cell.get("protocol_version") for cell in meta["cells"]}
    if len(versions) == 1 and None not in versions:
        yield from ("--protocol", versions.pop())
    probes = {cell["variant"].get("probe") for cell in meta["cells"]}
    if "off" in probes:
        yield from ("--probe", "both" if "on" in probes else "off")
    for key, option in LIMITS.items():
        usual = getattr(Limits(), key)
        if meta.get("limits", {}).get(key, usual) != usual:
            yield from (option, f"{meta['limits'][key]:.12g}")
    sides = [",".join(map(str, meta.get("placement", {}).get(side, ()))) for side in SIDES]
    yield from ("--pin", ":".join(sides) if all(sides) else "none")
    yield from ("--seed", str(meta.get("seed")))


def _tool(call: Mapping[str, Any]) -> Iterator[str]:
    yield from ("--tool", call["tool"])
    if call.get("arguments"):
        yield from ("--args", json.dumps(call["arguments"]))


def _target(server: Mapping[str, Any]) -> list[str]:
    if server["stdio"]:
        return ["--", *server["stdio"]]
    http = server["http"]
    beside = [word for key in ("ca", "proxy") if http.get(key) for word in (f"--{key}", http[key])]
    return ["--url", http["url"], *beside]

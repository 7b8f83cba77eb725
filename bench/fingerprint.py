"""What two runs must share to be compared: host, client and conditions, each difference named."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

# `host` and `client` forbid a verdict, one `factor` is what is compared, two forbid it as well;
# what is `noted` only explains: it may be the very change that is judged, or of no weight.
Weight: TypeAlias = Literal["host", "client", "factor", "noted"]
CLIENT_VERSIONS = ("mcp-latency", "anyio", "uvloop", "httptools")
MOST_LETTERS = 120
NOT_ASKED = (
    *("name", "about", "servers", "transport", "era", "variants"),
    *("launches", "calls"),
)
SERIES = re.compile(r"^\D*\d+(\.\d+)?")


class Difference(NamedTuple):
    """One thing that two runs, or cells of them, do not share, with both values as words."""

    what: str
    weight: Weight
    base: str
    head: str


def host(facts: Mapping[str, Any]) -> dict[str, str]:
    """The stable facts of a machine as words; what a run did not record is left out.

    Load and live frequency are recorded in a run, but they make no other machine.
    """
    limits, measured = facts.get("cgroup", {}), facts.get("pyperf", {})
    known = {
        "cpu": facts.get("cpu"),
        "cores": facts.get("cores"),
        "cores allowed": facts.get("cores_allowed"),
        "cgroup cpus": limits.get("cpus"),
        "cgroup memory": limits.get("memory_bytes"),
        "machine": facts.get("machine"),
        "system": facts.get("system"),
        "python": facts.get("python"),
        "cpu settings": measured.get("cpu_config"),
        "aslr": measured.get("aslr"),
    }
    return {what: str(value) for what, value in known.items() if value is not None}


def host_class(facts: Mapping[str, Any]) -> str:
    """A name for all machines on which a series of runs may go on: readable, and a hash.

    Kernel and Python count by their series (6.18, 3.11): an update must not end every history.
    """
    known = host(facts)
    for what in ("system", "python"):
        found = SERIES.match(known.get(what, ""))
        known[what] = found.group() if found else "unknown"
    for what in ("cpu settings", "aslr"):
        known.pop(what, None)
    cpu = re.sub(r"\W+", "-", re.sub(r"\(\w+\)|CPU|@.*", "", known.get("cpu", ""))).strip("-")
    words = (cpu or "unknown", f"{known.get('cores', '?')}c", known["system"].replace(" ", ""))
    text = json.dumps(known, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return f"{'-'.join(words)}-py{known['python']}-{digest}".lower()


def question(meta: Mapping[str, Any], scenario: str) -> dict[str, Any]:
    """What a scenario asks, without how often and of whom: the part that sets the figures."""
    asked: Mapping[str, Any] = next(
        (one for one in meta.get("scenarios", []) if one["name"] == scenario), {}
    )
    found = {key: value for key, value in asked.items() if value and key not in NOT_ASKED}
    steps = [{key: value for key, value in step.items() if value} for step in found.get("call", ())]
    return {**found, "call": steps} if steps else found


def digest(asked: Mapping[str, Any]) -> str:
    """Eight letters for a question, the same for the same one."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]


def told(each: Mapping[str, str]) -> str:
    """A difference in words: `cpu: A, then B`."""
    base, head = (_short(each[side] or "none") for side in ("base", "head"))
    return f"{each['what']}: {base}, then {head}"


def placement(meta: Mapping[str, Any]) -> str:
    """`0:1` for a client on core 0 and servers on core 1; `none` where nothing was pinned."""
    placed = meta.get("placement", {})
    sides = [",".join(str(core) for core in placed.get(side, ())) for side in ("client", "server")]
    return ":".join(sides) if all(sides) else "none"


def differences(base: Mapping[str, Any], head: Mapping[str, Any]) -> Iterator[Difference]:
    """What two runs (their run.json) do not share, beside what their cells were seen to be."""
    ours, theirs = base.get("host", {}), head.get("host", {})
    yield from _apart("host", host(ours), host(theirs))
    versions = [each.get("versions", {}) for each in (ours, theirs)]
    for name in sorted(versions[0].keys() & versions[1].keys() - {"python"}):
        weight: Weight = "client" if name in CLIENT_VERSIONS else "noted"
        yield from _apart(weight, *({name: str(each[name])} for each in versions))
    yield from _apart("factor", *({"placement": placement(each)} for each in (base, head)))
    names = {one["name"] for each in (base, head) for one in each.get("scenarios", [])}
    for name in sorted(names):
        asked = [question(each, name) for each in (base, head)]
        if all(asked):
            yield from _apart("factor", *({"scenario": _compact(each)} for each in asked))
    yield from _apart("noted", _recipes(base), _recipes(head))


def _apart(
    weight: Weight, base: Mapping[str, str], head: Mapping[str, str]
) -> Iterator[Difference]:
    for what in (key for key in base if key in head and base[key] != head[key]):
        yield Difference(what, weight, base[what], head[what])


def _recipes(meta: Mapping[str, Any]) -> dict[str, str]:
    """How each server was started or reached, by name."""
    return {
        f"recipe of {server['name']}": _compact(
            {key: server.get(key) for key in ("stdio", "http", "needs", "cwd")}
        )
        for server in meta.get("servers", [])
    }


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

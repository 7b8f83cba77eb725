"""JUnit XML: one test case a gated metric of a verdict, or a cell where nothing was compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from bench import summary
from bench.export.chosen import Chosen
from bench.report.figures import percent, shown
from bench.units import milliseconds

NS_PER_SECOND = 1e9


class Case(NamedTuple):
    """One test case: `end` is failure, error or skipped; None where it passed."""

    name: str
    words: str
    end: str | None = None
    why: str = ""
    time_s: float = 0.0


def render(chosen: Chosen) -> str:
    """One suite; what was slower fails, what could not be told is skipped with the reason."""
    verdict = chosen.verdict
    cases = list(_cells(chosen) if verdict is None else _metrics(verdict))
    suite = _suite(chosen, "run" if verdict is None else "ab", cases)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode", short_empty_elements=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _metrics(verdict: Mapping[str, Any]) -> Iterator[Case]:
    status = verdict.get("status", "complete")
    if status != "complete":
        yield Case("comparison", "", "error", f"{status}: broken off, so there is no verdict")
    elif not verdict["metrics"]:
        yield Case("comparison", "", "error", "nothing was compared")
    for metric in verdict["metrics"]:
        name = f"{metric['segment']} {metric['quantile']}"
        said = metric["verdict"]
        words = f"{said}: {_change(metric)}"
        time_s = (metric["head_ns"] or 0) / NS_PER_SECOND
        if said == "slower":
            yield Case(name, words, "failure", words, time_s)
        elif said == "cannot tell":
            why = f"{words}, {_wanted(verdict, metric)}"
            yield Case(name, words, "skipped", why, time_s)
        else:
            yield Case(name, words, time_s=time_s)
    yield from map(_assertion, verdict.get("assertions", ()))
    if not verdict.get("valid", True):
        yield Case("calls", "", "failure", "calls failed, so this decides nothing")


def _wanted(verdict: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    wanted = metric.get("blocks_wanted")
    more = f"; about {wanted} would tell" if wanted else ""
    return f"after {verdict['blocks']} blocks{more}"


def _assertion(each: Mapping[str, Any]) -> Case:
    name = f"assert {each['assert']}"
    if each["ok"] is None:
        wants = f"too few calls: it takes {each['wants']}" if each["wants"] else "not measured"
        return Case(name, wants, "skipped", wants)
    words = f"measured {milliseconds(each['value_ns'])}"
    return Case(name, words) if each["ok"] else Case(name, words, "failure", words)


def _change(metric: Mapping[str, Any]) -> str:
    """`+2.1 % (+1.2 % to +3.0 %)`, and what else would have been seen, where that is known."""
    if metric["ratio"] is None:
        return "no pair of blocks has it"
    words = percent(metric["ratio"])
    if metric["low"] is not None and metric["high"] is not None:
        words += f" ({percent(metric['low'])} to {percent(metric['high'])})"
    visible = metric.get("would_have_seen_percent")
    if visible is not None and metric["verdict"] in ("same", "cannot tell"):
        words += f"; a shift of {visible:.1f} % would have been seen in 9 of 10 runs"
    return words


def _cells(chosen: Chosen) -> Iterator[Case]:
    failed = chosen.run.meta.get("failed", {})
    for cell in chosen.document["cells"]:
        call = cell["segments"].get("call", {})
        p50_ns = call.get("p50_ns")
        words = f"call p50 {milliseconds(p50_ns)}, {cell['calls']} calls"
        time_s = (p50_ns or 0) / NS_PER_SECOND
        doubts = summary.unbelieved(cell)
        if cell["cell"] in failed:
            yield Case(cell["cell"], words, "error", str(failed[cell["cell"]]), time_s)
        elif doubts:
            yield Case(cell["cell"], words, "failure", "invalid: " + ", ".join(doubts), time_s)
        else:
            yield Case(cell["cell"], words, time_s=time_s)
    if not chosen.document["cells"]:
        yield Case("run", "", "error", "the run has no cells")


def _suite(chosen: Chosen, kind: str, cases: Sequence[Case]) -> ElementTree.Element:
    """The attributes and the order that the schemas of Ant and of Jenkins both ask for."""
    package = f"mcp-latency.{kind}"
    ends = [case.end for case in cases]
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": shown(f"{kind} {chosen.document['scenario'] or ''}").strip(),
            "tests": str(len(cases)),
            "failures": str(ends.count("failure")),
            "errors": str(ends.count("error")),
            "skipped": str(ends.count("skipped")),
            "time": f"{sum(case.time_s for case in cases):.9f}",
            "timestamp": _timestamp(chosen.run.path.name),
            "hostname": "localhost",
            "id": "0",
            "package": package,
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(chosen):
        ElementTree.SubElement(properties, "property", {"name": name, "value": shown(value)})
    suite.extend(_case(case, package) for case in cases)
    for name in ("system-out", "system-err"):
        ElementTree.SubElement(suite, name)
    suite[-2].text = "\n".join(shown(f"{case.name}: {case.words}") for case in cases)
    return suite


def _case(case: Case, package: str) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        {"name": shown(case.name), "classname": package, "time": f"{case.time_s:.9f}"},
    )
    if case.end is not None:
        # A reason in `skipped` is text: the older schemas know no attribute there.
        end = ElementTree.SubElement(element, case.end)
        end.text = shown(case.why)
        if case.end != "skipped":
            end.attrib.update({"type": case.end, "message": shown(case.why)})
    return element


def _properties(chosen: Chosen) -> Iterator[tuple[str, str]]:
    yield "run", str(chosen.document["run"])
    yield "status", str(chosen.document["status"])
    if chosen.verdict is not None:
        yield "verdict", str(chosen.verdict["verdict"])
        yield "blocks", str(chosen.verdict["blocks"])


def _timestamp(folder: str) -> str:
    """The UTC time that a results folder is named after, as ISO 8601; the epoch for another."""
    stamp = folder.partition("-")[0]
    if len(stamp) != len("20260101T000000Z") or not stamp.replace("T", "").rstrip("Z").isdigit():
        return "1970-01-01T00:00:00"
    day, hour = stamp[:8], stamp[9:15]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{hour[:2]}:{hour[2:4]}:{hour[4:]}"

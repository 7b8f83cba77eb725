"""The scenarios and servers known here, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.report.figures import shown


def render(known: Mapping[str, Any]) -> str:
    """Scenarios with what they ask; servers with where they can be measured and what they lack."""
    return "\n".join([*_scenarios(known["scenarios"]), "", *_servers(known["servers"])]) + "\n"


def _scenarios(scenarios: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "scenarios (mcp-latency run NAME)"
    width = max((len(shown(each["name"])) for each in scenarios), default=0)
    for each in scenarios:
        yield f"  {shown(each['name']):<{width}}  {shown(each['about'])}"


def _servers(servers: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "servers"
    width = max((len(shown(each["name"])) for each in servers), default=0)
    for each in servers:
        places = f"{','.join(each['transports'])} · {','.join(each['eras'])}"
        yield f"  {shown(each['name']):<{width}}  {shown(each['about'])}"
        yield f"  {'':<{width}}  {shown(places)} · needs {shown(_needs(each['needs']))}"
        yield f"  {'':<{width}}  {shown(each['missing'] or 'installed')}"


def _needs(needs: Mapping[str, Any]) -> str:
    named = [*needs.get("pip", ()), *needs.get("npm", ())]
    return ", ".join(named) if named else "nothing"

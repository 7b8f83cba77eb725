"""What the way to an HTTP server did beside the calls: redirects, proxies, lost sessions, waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.seen import Seen
from bench.units import milliseconds

PROXY_VARIABLES = (
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
)


def findings(cell: Seen) -> Iterator[str]:
    """What the figures contain that is not of the server."""
    for proxy in sorted(set(_all(cell, "proxy"))):
        yield f"through the proxy {proxy}: its time is in every connection and call"


def warnings(cell: Seen) -> Iterator[str]:
    """What happened on the way, each with what helps."""
    for address in sorted(set(_all(cell, "redirected"))):
        yield (
            f"redirected once, in the setup, to {address}, which is used from then on; "
            "try: --url with that address"
        )
    lost = _counted(cell, "sessions_lost")
    if lost:
        renewal_ns = [took_ns for each in _all(cell, "renewal_ns") for took_ns in each]
        most = milliseconds(max(renewal_ns))
        yield (
            f"{lost} sessions were lost in mid-run and opened anew, {most} at most; "
            "the calls that lost them are counted as failed"
        )
    put_off = _counted(cell, "put_off")
    if put_off:
        after = max(_all(cell, "retry_after"), default="") or "without a time"
        yield (
            f"{put_off} calls were put off with 429 or 503 (Retry-After {after}), counted and "
            "never timed; try: fewer --calls"
        )


def unused_proxies(environment: Mapping[str, str], *, remote: bool) -> Iterator[str]:
    """A proxy that is set in the environment is not used; said where the server is not ours."""
    found = [name for name in PROXY_VARIABLES if environment.get(name)]
    if found and remote:
        yield f"{', '.join(found)} is set and was not used; try: --proxy URL to measure through it"


def _all(cell: Seen, name: str) -> list[Any]:
    return [detail["facts"][name] for detail in cell.details if detail["facts"].get(name)]


def _counted(cell: Seen, name: str) -> int:
    return sum(detail["counts"].get(name, 0) for detail in cell.details)

"""The comment on a pull request: one a job, written anew each time, by GitHub's API."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from bench.ci import words
from bench.ci.job import PREFIX
from bench.ci.measure import comment_file

PER_PAGE, LIMIT_S = 100, 30
COMMENT_BYTES = 60_000  # GitHub takes 65,536 characters


class _Stay(urllib.request.HTTPRedirectHandler):
    """A token goes nowhere but where it was sent."""

    def redirect_request(self, *_: object) -> None:
        """Called by urllib: None makes a redirect an error."""


def run(variables: Mapping[str, str], event: Mapping[str, Any]) -> int:
    """Write the last summary as a comment; what hinders it is a warning, never a failure."""
    number = event.get("pull_request", {}).get("number")
    token = variables.get(f"{PREFIX}TOKEN")
    file = comment_file(variables)
    if not number or not token or not file.is_file():
        print("::notice title=mcp-latency::no pull request, no token or no summary: no comment")
        return 0
    mark = marker(variables)
    body = words.bounded(f"{mark}\n{file.read_text('utf-8')}", COMMENT_BYTES)
    api = variables.get("GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{variables['GITHUB_REPOSITORY']}/issues"
    try:
        _write(issues, number, token, (mark, body))
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        print(
            f"::warning title=mcp-latency::no comment: {error}; it needs permissions: "
            "pull-requests: write, which a fork's token does not have"
        )
    return 0


def marker(variables: Mapping[str, str]) -> str:
    """The invisible line that a job knows its own comment by."""
    key = f"{variables.get('GITHUB_WORKFLOW', '')}/{variables.get('GITHUB_JOB', '')}"
    return f"<!-- mcp-latency {re.sub('[^A-Za-z0-9/_. ]', '_', key)} -->"


def _write(issues: str, number: int, token: str, told: tuple[str, str]) -> None:
    mark, body = told
    ours = next((each for each in _comments(issues, number, token) if _is_ours(each, mark)), None)
    if ours is None:
        _ask("POST", f"{issues}/{number}/comments", token, {"body": body})
    else:
        _ask("PATCH", f"{issues}/comments/{ours['id']}", token, {"body": body})


def _is_ours(comment: Mapping[str, Any], mark: str) -> bool:
    """Written by a bot: anybody could write the marker."""
    by_bot = (comment.get("user") or {}).get("type") == "Bot"
    return by_bot and str(comment.get("body") or "").startswith(mark)


def _comments(issues: str, number: int, token: str) -> Iterator[Mapping[str, Any]]:
    page, full = 1, True
    while full:
        address = f"{issues}/{number}/comments?per_page={PER_PAGE}&page={page}"
        found = _ask("GET", address, token)
        yield from found
        page, full = page + 1, len(found) == PER_PAGE


def _ask(method: str, address: str, token: str, content: Mapping[str, str] | None = None) -> Any:
    request = urllib.request.Request(
        address,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": "mcp-latency",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.build_opener(_Stay).open(request, timeout=LIMIT_S) as response:
        return json.load(response)

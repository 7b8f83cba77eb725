"""Server lists of desktop clients and editors: read as they are, and audited."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.config import choose, read_config
from bench.errors import COULD_NOT, FINE, USAGE, UsageError
from tests.outside import Program, listening

TEXT = """\
{
  // what the desktop client wrote
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "pkg", "${HOME}/docs"], "env": {"A": "${KEY}"},},
    /* a remote
       one */
    "remote": {"url": "http://127.0.0.1:1/mcp?x=//y", "headers": {"X-Key": "${KEY}"}},
    "old": {"command": "gone", "disabled": true},
  },
}
"""


def test_comments_trailing_commas_and_variables_are_read() -> None:
    files, remote = read_config(TEXT, file="c.json", variables={"HOME": "/h", "KEY": "k"})
    assert files.stdio == ("npx", "-y", "pkg", "/h/docs")
    assert files.env == {"A": "k"}
    assert remote.http is not None
    assert remote.http.url == "http://127.0.0.1:1/mcp?x=//y"
    assert remote.headers == (("X-Key", "k"),)


def test_the_editors_form_and_defaults_are_read() -> None:
    text = '{"servers": {"a": {"type": "stdio", "command": "x", "args": ["${env:P:-80}"]}}}'
    (server,) = read_config(text, file="c.json", variables={})
    assert server.stdio == ("x", "80")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n\n  oops}", "c.json:3:"),
        ("[]", "not an object"),
        ("{}", "neither mcpServers nor servers"),
        ('{"mcpServers": {}}', "lists no server"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', '"command"'),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "args is no list"),
        ('{"mcpServers": {"a": {"command": "${NOPE}"}}}', r"\$\{NOPE\} is not set"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_server(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_config(text, file="c.json", variables={})


def test_a_server_that_starts_elsewhere_is_still_the_users_own() -> None:
    text = '{"mcpServers": {"a": {"command": "x", "cwd": "/srv/a"}}}'
    (server,) = read_config(text, file="c.json", variables={})
    assert (server.cwd, server.folder) == ("/srv/a", None)


def test_the_nearest_name_is_offered() -> None:
    servers = read_config(TEXT, file="c.json", variables={"HOME": "/h", "KEY": "k"})
    with pytest.raises(UsageError, match=r'no server "file".*"files"'):
        choose(servers, "file", file="c.json")


def _config(folder: Path, **servers: object) -> str:
    path = folder / "desktop.json"
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return str(path)


def _command(name: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-m", f"tests.servers.{name}"]}


def test_one_server_of_a_list_is_measured_by_its_name(program: Program) -> None:
    file = _config(program.folder, good=_command("trivial"), bad=_command("silent"))
    words = ("--config", file, "--server", "good", "--era", "stateful", "-r", "1", "-n", "2")
    said = program("run", *words, "--json")
    assert said.code == FINE, said.err
    assert said.cell["server"] == "good"


def test_the_audit_says_which_server_makes_the_host_wait(program: Program) -> None:
    with listening("trivial_http") as server:
        file = _config(
            program.folder,
            quick=_command("trivial"),
            slow=_command("slow_start"),
            slow_too=_command("slow_start"),
            remote={"url": f"{server.base}/mcp"},
        )
        said = program("run", "--config", file, "-r", "2", "--json")
    assert said.code == FINE, said.err
    assert said.document["slowest"] in ("slow", "slow_too")
    rows = {row["server"]: row for row in said.document["servers"]}
    assert rows["slow"]["alone_ns"] >= 300_000_000
    assert rows["remote"]["failed"] == 0
    assert said.document["wait"]["alone_ns"] >= 600_000_000
    assert 300_000_000 <= said.document["wait"]["together_ns"] < said.document["wait"]["alone_ns"]
    assert said.left == []


def test_a_server_that_fails_does_not_stop_the_audit_of_the_others(program: Program) -> None:
    file = _config(program.folder, good=_command("trivial"), bad=_command("exits_early"))
    said = program("run", "--config", file, "-r", "1")
    assert said.code == COULD_NOT
    assert "left with status 7" in said.out
    assert "good" in said.out


def test_a_list_that_is_not_there_is_wrong_usage(program: Program) -> None:
    said = program("run", "--config", "nope.json")
    assert said.code == USAGE
    assert "nope.json" in said.err


def test_a_list_as_a_desktop_client_keeps_it_is_audited_as_it_is() -> None:
    top = Path(__file__).parent.parent
    listed = str(top / "tests" / "fixtures" / "desktop.json")
    said = Program(top)("run", "--config", listed, "--json", "-r", "1")
    assert said.code == FINE, said.err
    assert {row["server"] for row in said.document["servers"]} == {
        "tickets",
        "slow to start",
        "trivial",
    }
    assert "planted-in-the-fixture" not in said.out + said.err

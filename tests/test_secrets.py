"""A planted secret is in no file, on no terminal and in no report."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import redact
from bench.model import Server
from tests.outside import Program, listening, module, toml

SECRET = "hunter2-planted-secret"
NAMES = ("api_key", "X-Api-Key", "accessToken", "password", "Authorization", "client_secret")


@pytest.mark.parametrize("name", NAMES)
def test_a_text_under_a_secret_key_is_hidden_and_the_rest_stays_json(name: str) -> None:
    body = json.dumps({"params": {name: SECRET, "query": "refund"}})
    cleaned = json.loads(redact.text(body))
    assert cleaned == {"params": {name: redact.HIDDEN, "query": "refund"}}


@pytest.mark.parametrize("name", ["progressToken", "maxTokens", "inputTokens", "query"])
def test_what_only_sounds_like_a_secret_stays(name: str) -> None:
    body = json.dumps({"_meta": {name: "abc-1234"}})
    assert redact.text(body) == body


@given(st.text(max_size=20), st.sampled_from(NAMES), st.text(max_size=20))
def test_redaction_never_breaks_json(before: str, name: str, secret: str) -> None:
    cleaned = json.loads(redact.text(json.dumps({"a": before, name: secret, "b": [before]})))
    assert cleaned["a"] == before
    assert cleaned[name] == redact.HIDDEN


def test_addresses_and_command_lines_lose_their_secrets() -> None:
    assert redact.url(f"http://me:{SECRET}@h:8/mcp?token={SECRET}&x=1") == (
        "http://[hidden]@h:8/mcp?token=[hidden]&x=1"
    )
    command = ["serve", f"--token={SECRET}", "--api-key", SECRET, "--port", "8"]
    assert SECRET not in " ".join(redact.words(command))
    assert redact.words(command)[-2:] == ["--port", "8"]


def _everything_said(program: Program, *words: str) -> str:
    said = program(*words)
    files = [path.read_bytes() for path in program.folder.rglob("*") if path.is_file()]
    kept = b"".join(file for file in files if b"recipe" not in file[:40])
    return said.out + said.err + kept.decode("utf-8", "replace")


def test_values_of_variables_reach_no_file_and_no_terminal(program: Program) -> None:
    command = module("tells_secret")
    text = f"stdio = {toml(command)}\neras = ['stateful']\n[env]\nMY_VALUE = '{SECRET}'\n"
    folder = program.folder / "scenarios" / "servers" / "leaky"
    folder.mkdir(parents=True)
    recipe = folder / "recipe.toml"
    recipe.write_text(text, "utf-8")
    said = program("run", "leaky", "-r", "1", "-n", "2")
    recipe.unlink()
    kept = b"".join(path.read_bytes() for path in program.folder.rglob("*") if path.is_file())
    assert "echo" in said.out + said.err + kept.decode("utf-8", "replace")
    assert SECRET not in said.out + said.err
    assert SECRET.encode() not in kept


def test_values_of_headers_and_addresses_reach_no_file_and_no_terminal(program: Program) -> None:
    with listening("trivial_http") as server:
        url = f"{server.base}/mcp?token={SECRET}"
        found = _everything_said(
            program,
            *("run", "--url", url, "-H", f"X-Any: {SECRET}", "--tool", "echo"),
            *("--args", json.dumps({"password": SECRET, "text": "hello"}), "-r", "1", "-n", "2"),
        )
    assert "hello" in found
    assert SECRET not in found


def test_a_server_that_dies_saying_its_secret_is_quoted_without_it(program: Program) -> None:
    found = _everything_said(program, "trace", "--url", f"http://127.0.0.1:9/mcp?token={SECRET}")
    assert "cannot be reached" in found
    assert SECRET not in found


def test_a_value_that_is_also_a_word_of_ours_changes_no_figure(program: Program) -> None:
    text = f"stdio = {toml(module('trivial'))}\neras = ['stateful']\n"
    text += "[env]\nA = 'stateful'\nB = '000000'\n"
    folder = program.folder / "scenarios" / "servers" / "worded"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(text, "utf-8")
    said = program("run", "worded", "-r", "1", "-n", "2", "--json")
    assert said.verdict == 0, said.err
    assert said.cell["era"] == "stateful"
    assert said.cell["calls"] == 2


@pytest.mark.parametrize(
    "command",
    [
        ["npx", "mcp-remote", "--header", f"Authorization: Bearer {SECRET}"],
        ["serve", f"--db=postgres://u:{SECRET}@h/db"],
        ["serve", "--token", SECRET],
        ["serve", f"http://h/?api_key={SECRET}"],
    ],
)
def test_secrets_of_a_command_line_are_hidden_in_it_and_known(command: list[str]) -> None:
    assert SECRET not in " ".join(redact.words(command))
    assert SECRET in redact.secrets_of(Server(name="x", stdio=tuple(command)))


def test_leaves_are_cleaned_and_structure_stays() -> None:
    data = {"token": SECRET, "stateful": [f"a {SECRET}", 3, None], "n": {"x": "y"}}
    cleaned = redact.leaves(data, (SECRET, "stateful"))
    assert cleaned == {"token": redact.HIDDEN, "stateful": ["a [hidden]", 3, None], "n": {"x": "y"}}

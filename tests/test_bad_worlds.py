"""Bad worlds get good words and the right exit code, within the limit and without leftovers."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from bench import tables
from bench.errors import COULD_NOT, FINE, INVALID, USAGE
from bench.process import KEPT_STDERR_BYTES
from tests.outside import Program, Said, listener, listening, module, port_of, toml

SECOND_NS = 1_000_000_000


def _words(said: Said, code: int) -> str:
    """What it said on stderr, once its exit code and its leftovers are as they should be."""
    assert said.verdict == code, said.err
    assert said.left == []
    assert "Traceback (most recent call last):\n  File" not in said.err
    return said.err


def test_a_command_that_is_not_there_is_named_with_the_nearest_one(program: Program) -> None:
    err = _words(program("run", "--", "pythom3", "server.py"), COULD_NOT)
    assert "pythom3: No such file or directory" in err
    assert 'did you mean "python3"?' in err


def test_a_file_that_is_no_program_is_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "server.txt").write_text("hello")
    err = _words(program("run", "--", str(tmp_path / "server.txt")), COULD_NOT)
    assert "server.txt: Permission denied" in err


def test_a_server_that_leaves_before_it_answers_is_told_with_status_and_last_words(
    program: Program,
) -> None:
    err = _words(program.run("exits_early"), COULD_NOT)
    assert 'server "exits_early" did not answer initialize' in err
    assert "it left with status 7" in err
    assert "ModuleNotFoundError: No module named 'tickets'" in err


def test_a_server_that_keeps_silent_is_told_with_phase_and_limit(program: Program) -> None:
    said = program.run("silent", "initialize", options=["--setup-timeout", "0.5"])
    err = _words(said, COULD_NOT)
    assert "did not answer initialize: no reply within 0.5 s; it is still running" in err


def test_a_list_that_never_comes_is_told_where_a_tool_has_to_be_chosen(program: Program) -> None:
    command = ("--", *module("silent", "tools/list"))
    err = _words(program("run", "--setup-timeout", "0.5", *command), COULD_NOT)
    assert "did not answer tools/list: no reply within 0.5 s; it is still running" in err


def test_calls_without_a_reply_time_out_one_by_one_and_are_counted(program: Program) -> None:
    options = ["--timeout", "0.1", "--tool", "echo"]
    said = program.run("silent", "tools/call", options=options)
    _words(said, INVALID)
    assert said.cell["outcomes"]["timeout"] == said.cell["calls"] == 6
    assert "call" not in said.cell["segments"]


def test_a_flood_of_stderr_is_drained_and_only_its_end_is_kept(program: Program) -> None:
    said = program.run("floods_stderr")
    _words(said, FINE)
    assert said.cell["outcomes"]["ok"] == 6
    launches = said.run.launch_table.to_pylist()
    counted = [tables.details(row)["counts"]["stderr_bytes"] for row in launches]
    sent = [
        row["launch"] for row in said.run.message_table.to_pylist() if row["direction"] == "out"
    ]
    assert counted == [sent.count(row["launch"]) * 256 * 1024 for row in launches]
    assert min(counted) > KEPT_STDERR_BYTES
    assert sum(each.stat().st_size for each in said.run.path.iterdir()) < KEPT_STDERR_BYTES


def test_a_server_that_dies_in_mid_run_keeps_its_calls_and_the_run_goes_on(
    program: Program,
) -> None:
    said = program.run("dies_midway", "launches", "1", "2", options=["-r", "3"])
    _words(said, INVALID)
    cell = said.cell
    assert cell["launches"] == 3
    assert cell["outcomes"]["ok"] == 1 + 1 + 3
    assert cell["outcomes"]["transport_error"] == 2
    (first, second) = [each for each in cell["warnings"] if "ended early" in each]
    assert first == second
    assert "left with status 9" in first
    assert "panic: out of tickets" in first


def test_noise_on_stdout_is_counted_and_quoted_and_every_call_stays_ok(program: Program) -> None:
    said = program.run("noisy")
    _words(said, FINE)
    assert said.cell["outcomes"]["ok"] == 6
    assert said.cell["wire"]["noise_lines"] == 2
    (quoted,) = [each for each in said.cell["warnings"] if "standard output" in each]
    assert '"Ready on stdio"' in quoted
    assert '"debug: x"' in quoted


def test_noise_instead_of_a_reply_is_quoted_in_the_error(program: Program) -> None:
    said = program.run("noisy", "mute", options=["--setup-timeout", "0.5"])
    assert "Ready on stdio" in _words(said, COULD_NOT)


def test_a_port_that_is_taken_is_named_and_its_owner_is_not_measured(program: Program) -> None:
    with listener() as taken:
        url = f"http://127.0.0.1:{port_of(taken)}/mcp"
        command = toml(module("trivial_http", "{port}"))
        program.recipe("taken", http=f'{{command = {command}, url = "{url}"}}')
        err = _words(program("run", "taken", *("-r", "1")), COULD_NOT)
        assert f"something else listens at {url} already" in err


def test_a_server_that_cannot_listen_is_told_with_its_last_words(program: Program) -> None:
    command = toml(module("exits_early"))
    program.recipe("deaf", http=f'{{command = {command}, url = "http://127.0.0.1:{{port}}/mcp"}}')
    err = _words(program("run", "deaf"), COULD_NOT)
    assert "left with status 7 before it accepted a connection" in err
    assert "No module named 'tickets'" in err


def test_a_server_that_never_listens_is_told_with_the_limit(program: Program) -> None:
    command = toml([sys.executable, "-c", "import signal; signal.pause()", "{port}"])
    program.recipe("mute", http=f'{{command = {command}, url = "http://127.0.0.1:{{port}}/mcp"}}')
    err = _words(program("run", "mute", "--setup-timeout", "0.5"), COULD_NOT)
    assert "did not accept a connection" in err
    assert "within 0.5 s" in err


def test_a_url_that_refuses_is_named(program: Program) -> None:
    with listener() as free:
        url = f"http://127.0.0.1:{port_of(free)}/mcp"
    err = _words(program("run", "--url", url), COULD_NOT)
    assert f"{url} cannot be reached: Connection refused" in err


def test_a_url_that_never_accepts_is_given_up_at_the_limit(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        url = f"http://127.0.0.1:{port_of(full)}/mcp"
        with socket.create_connection(full.getsockname()):
            err = _words(program("run", "--url", url, "--setup-timeout", "0.5"), COULD_NOT)
    assert f"{url} cannot be reached: no connection within 0.5 s" in err


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/mcp", "127.0.0.1:80/mcp", "http://127.0.0.1:99999/", "http://"]
)
def test_a_url_that_is_none_is_wrong_usage(program: Program, url: str) -> None:
    assert f'"{url}"' in _words(program("run", "--url", url), USAGE)


@pytest.mark.parametrize("status", [401, 421, 500])
def test_a_server_that_turns_us_away_is_told_with_status_and_its_words(
    program: Program, status: int
) -> None:
    with listening("http_refuses") as server:
        said = program("run", "--url", f"{server.base}/{status}", "--era", "stateful")
        assert f"HTTP {status} without a reply: go away" in _words(said, COULD_NOT)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["run", "tickts"], 'no scenario or server "tickts" here; did you mean "tickets"?'),
        (["run", "--tool", "ecko", "--", *module("trivial")], 'did you mean "echo"?'),
        (["run", "small", "--tool", "ecko"], 'did you mean "echo"?'),
        (["run", "--transport", "stdoi"], '"stdoi"; did you mean "stdio"?'),
        (["run", "--era", "statefull"], '"statefull"; did you mean "stateful"?'),
        (["run", "--session", "keep"], '"keep"; did you mean "kept"?'),
        (["run", "--protocol", "2025-11-26"], 'did you mean "2025-11-25"?'),
        (["run", "--"], "no command after --"),
        (["run", "--url", "http://127.0.0.1:1/", "--", "x"], "name one server"),
        (["run", "--args", "{"], "no JSON"),
        (["run", "-H", "no colon", "--url", "http://127.0.0.1:1/"], "say it as 'Name: value'"),
        (["run", "-H", "X: ☃", "--url", "http://127.0.0.1:1/"], "--header"),
        (["run", "--nonsense"], "--nonsense"),
        (["measure"], "measure"),
    ],
)
def test_a_word_that_is_not_known_is_wrong_usage_and_the_nearest_is_offered(
    program: Program, words: list[str], offered: str
) -> None:
    program.recipe("trivial", stdio=toml(module("trivial")))
    program.scenario("small", 'servers = ["trivial"]\n[[call]]\ntool = "echo"\n')
    assert offered in _words(program(*words), USAGE)


def test_a_scenario_whose_tool_the_server_lacks_is_wrong_usage(program: Program) -> None:
    program.recipe("trivial", stdio=toml(module("trivial")))
    program.scenario("small", 'servers = ["trivial"]\n[[call]]\ntool = "eco"\n')
    err = _words(program("run", "small", "--transport", "stdio"), USAGE)
    assert 'has no tool "eco"; did you mean "echo"?' in err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('transport = ["stdio"\n[[call]]\ntool = "x"\n', ["broken.toml", "line 2", "[[call]]"]),
        ('launchs = 3\n[[call]]\ntool = "x"\n', ["broken.toml:1", '"launchs"', '"launches"']),
        ('[[call]]\ntool = "x"\nargumets = {}\n', ["broken.toml:3", '"argumets"', '"arguments"']),
        ('calls = "many"\n[[call]]\ntool = "x"\n', ["broken.toml", "calls", "`int`"]),
        ('servers = ["trivail"]\n[[call]]\ntool = "x"\n', ['"trivail"', '"trivial"']),
    ],
)
def test_a_broken_scenario_is_told_with_file_line_and_key(
    program: Program, text: str, told: list[str]
) -> None:
    program.recipe("trivial", stdio=toml(module("trivial")))
    program.scenario("broken", text)
    err = _words(program("run", "broken"), USAGE)
    assert all(word in err for word in told), err


def test_a_broken_recipe_is_told_with_file_line_and_key(program: Program) -> None:
    program.recipe("odd", about='"x"', stdioo='["python3"]')
    err = _words(program("run", "odd"), USAGE)
    assert 'odd/recipe.toml:2: unknown key "stdioo"; did you mean "stdio"?' in err


@pytest.mark.parametrize("server", ["trivial", "trivial_http"])
def test_messages_of_several_megabytes_work_in_both_directions(
    program: Program, server: str
) -> None:
    command = toml(module(server, "{port}"))
    where = f'{{command = {command}, url = "http://127.0.0.1:{{port}}/mcp"}}'
    program.recipe("large", **({"http": where} if "http" in server else {"stdio": command}))
    text = "ß" * 2_000_000
    program.scenario(
        "megabytes",
        f'servers = ["large"]\n[[call]]\ntool = "echo"\narguments = {{text = "{text}"}}\n',
    )
    said = program("run", "megabytes", "--json", "-r", "1", "-n", "2", "-w", "0")
    _words(said, FINE)
    for cell in said.document["cells"]:
        assert cell["outcomes"]["ok"] == cell["calls"] == 2
    rows = [row for row in said.run.call_table.to_pylist() if row["phase"] == "steady"]
    assert min(row["response_bytes"] for row in rows) > 4_000_000
    assert min(row["request_bytes"] for row in rows) > 4_000_000


def test_a_server_that_ignores_eof_and_term_is_killed_and_the_run_is_fine(
    program: Program,
) -> None:
    said = program.run("stubborn", options=["-r", "1"])
    _words(said, FINE)
    assert _stopped(said) == ["killed"]


@pytest.mark.parametrize("how", ["stay", "stay-away", "leave", "leave-away"])
def test_a_grandchild_that_ignores_eof_and_term_does_not_outlive_the_run(
    program: Program, how: str
) -> None:
    said = program.run("wrapper", how, options=["-r", "1"])
    _words(said, FINE)
    assert said.cell["outcomes"]["ok"] == 3
    assert not any("could not be ended" in each for each in said.cell["warnings"])


@pytest.mark.parametrize("how", ["stay-away", "leave-away"])
def test_a_grandchild_does_not_outlive_a_trace(program: Program, how: str) -> None:
    said = program("trace", "--", *module("wrapper", how))
    _words(said, FINE)
    assert "The session is whole" in said.out


def _stopped(said: Said) -> list[str]:
    rows = said.run.launch_table.to_pylist()
    return [tables.details(row)["facts"]["stopped"] for row in rows]


def test_a_trace_shows_the_opening_where_no_tool_can_be_called_without_arguments(
    program: Program,
) -> None:
    said = program("trace", "--", *module("wants_arguments"))
    assert said.code == FINE, said.err
    assert "tools/list" in said.out
    line = """--tool repeat --args '{"text": "…", "times": 1}'"""
    assert "No tool was called: every tool needs arguments" in said.out
    assert line in said.out
    assert line in _words(program("run", "--", *module("wants_arguments")), USAGE)


def test_calls_that_fail_are_told_with_the_words_of_the_first_and_blame_no_probe(
    program: Program,
) -> None:
    few = ("-r", "1", "-n", "2", "-w", "0", "--pin", "none", "--era", "stateful", "--json")
    options = ("--tool", "repeat", "--args", "{}")
    said = program("run", *options, *few, "--", *module("wants_arguments"))
    assert said.code == INVALID
    (failed,) = [each for each in said.cell["warnings"] if "calls failed" in each]
    assert 'the first with "times: a whole number is wanted"' in failed
    assert not [each for each in said.cell["warnings"] if each.startswith("probe")]


def test_a_number_of_calls_that_would_mean_nothing_is_refused(program: Program) -> None:
    words = ("run", "tickets", "--policy", "one-per-call", "--calls", "50")
    assert "makes one call a launch; try: --launches" in _words(program(*words), USAGE)


def test_an_option_that_is_none_is_told_the_closest(program: Program) -> None:
    said = program("run", "tickets", "--lanches", "3")
    assert said.code == USAGE
    assert '--lanches 3; did you mean "--launches"?' in said.err


def test_a_run_that_is_not_there_is_told_those_that_are(program: Program) -> None:
    for number in range(7):
        folder = program.folder / "results" / f"2026120{number}T000000Z-tickets"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}", "utf-8")
    said = program("report", "nope")
    words = ", ".join(f"results/2026120{number}T000000Z-tickets" for number in (6, 5, 4, 3, 2))
    assert said.err.strip().endswith(f"No such file or directory; there are {words}")


def test_a_command_without_its_dashes_is_told_where_they_go(program: Program) -> None:
    assert "mcp-latency run -- COMMAND" in _words(program("run", "server.py"), USAGE)
    http = program("run", "--transport", "http", "--", *module("trivial"))
    assert "try: --url with the address" in _words(http, USAGE)

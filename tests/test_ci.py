"""The action: its files fit their schemas, its steps run as a runner runs them."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bench import store
from bench.ci import words
from bench.ci.comment import COMMENT_BYTES, marker
from bench.ci.job import base_of, job
from bench.errors import COULD_NOT, INVALID, SLOWER, UsageError
from tests.test_exports import VERDICT

TOP = Path(__file__).parent.parent
ACTION = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
DOCUMENT = (TOP / "docs" / "ci.md").read_text("utf-8")
SHA, OTHER = "a" * 40, "b" * 40
TOKEN = "ghs_notToBeSeen123"


def _fits(schema: str, *files: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.S)


def test_action_workflows_and_documented_jobs_fit_the_schemas_of_their_runners(
    tmp_path: Path,
) -> None:
    _fits("github-actions", TOP / "action.yml")
    github: list[Path] = []
    gitlab: list[Path] = []
    for number, block in enumerate(_blocks("yaml")):
        file = tmp_path / f"{number}.yml"
        file.write_text(block, "utf-8")
        (github if "jobs:" in block else gitlab).append(file)
    _fits("github-workflows", *(TOP / ".github" / "workflows").iterdir(), *github)
    _fits("gitlab-ci", *gitlab)
    assert (len(github), len(gitlab)) == (2, 1)


def test_every_input_of_the_action_is_used_documented_and_never_part_of_a_script() -> None:
    text = (TOP / "action.yml").read_text("utf-8")
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text
        assert f"`{name}`" in DOCUMENT
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"


def test_the_workflows_of_this_project_and_of_the_document_name_inputs_there_are() -> None:
    workflows = [(TOP / ".github" / "workflows" / "latency.yml").read_text("utf-8")]
    workflows += [block for block in _blocks("yaml") if "jobs:" in block]
    for text in workflows:
        for step in yaml.safe_load(text)["jobs"]["latency"]["steps"]:
            if step.get("uses", "").startswith(("./", "OWNER/")):
                assert step["with"].keys() <= ACTION["inputs"].keys()


def test_the_lines_of_the_readme_are_steps_with_inputs_there_are() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (TOP / "README.md").read_text("utf-8"), re.S)
    checkout, ours = yaml.safe_load(block)
    assert checkout == {"uses": "actions/checkout@v4"}
    assert {"setup", "command"} == ours["with"].keys() <= ACTION["inputs"].keys()


# What is compared


@pytest.mark.parametrize(
    ("event", "base"),
    [
        ({"pull_request": {"base": {"sha": SHA}}}, SHA),
        ({"merge_group": {"base_sha": SHA}}, SHA),
        ({"before": SHA}, SHA),
        ({"pull_request": {"base": {"sha": SHA}}, "before": OTHER}, SHA),
    ],
)
def test_the_base_is_where_a_pull_request_a_merge_queue_or_a_push_starts(
    event: Mapping[str, Any], base: str
) -> None:
    found = job({"MCP_LATENCY_COMMAND": "python s.py", "MCP_LATENCY_SETUP": "make"}, event)
    assert found.base == f"git:{base} -- python s.py"
    assert found.head == "git:HEAD -- python s.py"
    assert found.options == ("--setup", "make")
    assert found.revision == base


@pytest.mark.parametrize("event", [{}, {"before": "0" * 40}, {"before": "$(touch x)"}])
def test_an_event_without_a_base_asks_for_one(event: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError, match="set the input base"):
        base_of(event)


def test_named_targets_are_taken_as_they_are_and_nothing_to_compare_is_refused() -> None:
    variables = {"MCP_LATENCY_BASE": "a", "MCP_LATENCY_HEAD": "b", "MCP_LATENCY_ARGS": "-n '3 4'"}
    found = job(variables, {})
    assert found == ("a", "b", ("-n", "3 4"), None)
    with pytest.raises(UsageError, match="nothing to compare"):
        job({"MCP_LATENCY_BASE": "a"}, {})


# What is said


def test_a_summary_has_the_verdict_in_its_title_and_a_line_a_metric() -> None:
    text = words.summary(VERDICT)
    assert text.startswith("### 🔴 mcp-latency: slower\n")
    (row,) = [line for line in text.splitlines() if line.startswith("| call p50 |")]
    for figure in ("1.00 ms", "1.02 ms", "+2.1 %", "+1.2 % to +3.0 %", "slower"):
        assert f" {figure} |" in row
    assert "head is slower: call p50 by +2.1 % (+1.2 % to +3.0 %)" in text


def test_a_summary_of_nothing_compared_of_a_failed_assertion_and_of_failed_calls_says_so() -> None:
    nothing = {**VERDICT, "verdict": "cannot tell", "metrics": []}
    assert words.summary(nothing).startswith("### 🟡 mcp-latency: cannot tell\n")
    assert "nothing was compared" in words.summary(nothing)
    failed = {"assert": "call.p99 < 5ms", "value_ns": 6_000_000, "ok": False, "wants": 368}
    text = words.summary({**VERDICT, "verdict": "same", "assertions": [failed]})
    assert text.startswith("### 🔴 mcp-latency: same, but an assertion failed\n")
    assert "| call.p99 &#60; 5ms | 6.00 ms | NO |" in text
    for doubt in ({"valid": False}, {"status": "interrupted"}):
        doubtful = {**VERDICT, "verdict": "same", **doubt}
        assert words.decided(doubtful) == "none"
        assert words.summary(doubtful).startswith("### 🔴 mcp-latency: no verdict\n")


def test_what_a_server_says_is_no_markup_in_a_summary() -> None:
    text = words.failure(2, ['<script>alert("x")</script>', "[a](b)", "\x1b[31m| x"])
    assert "<script>" not in text
    assert "[a](b)" not in text
    assert "\x1b" not in text


def test_a_long_summary_is_cut_at_a_line_and_by_bytes() -> None:
    text = "é" * 50 + "\n" + "ü" * 100_000
    cut = words.bounded(text, 1_000)
    assert len(cut.encode()) <= 1_000
    assert cut.startswith("é" * 50 + "\n")
    assert words.bounded("short", 1_000) == "short"


# As a runner runs it


class Runner(NamedTuple):
    """A runner's folder: the files that a step reads and writes, and its variables."""

    folder: Path
    variables: Mapping[str, str]

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step of action.yml with the variables that it maps its inputs to."""
        (found,) = [s for s in ACTION["runs"]["steps"] if f"bench.ci {name}" in s.get("run", "")]
        defaults = {key: each["default"] for key, each in ACTION["inputs"].items()}
        known = {f"inputs.{key}": value for key, value in {**defaults, **inputs}.items()}
        known["github.token"] = TOKEN
        mapped = {
            key: known[str(value).removeprefix("${{ ").removesuffix(" }}")]
            for key, value in found["env"].items()
        }
        python = self.folder / "mcp-latency" / "venv" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        if not python.exists():
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
            python.chmod(0o755)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
            env={**os.environ, **self.variables, **mapped, "PYTHONPATH": str(TOP)},
            cwd=self.folder / "repository",
            capture_output=True,
            text=True,
            check=False,
        )

    def outputs(self) -> dict[str, str]:
        """What the step set."""
        lines = (self.folder / "output").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def summary(self) -> str:
        """What the step wrote for people."""
        return (self.folder / "summary").read_text("utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner with a repository of one server in two commits: the second sleeps in each call."""
    repository = tmp_path / "repository"
    repository.mkdir()
    _git(repository, "init", "-q")
    base = _commit(repository, spent_s=0.0)
    _commit(repository, spent_s=0.03)
    event = {"pull_request": {"number": 7, "base": {"sha": base}}}
    (tmp_path / "event.json").write_text(json.dumps(event), "utf-8")
    variables = {
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_WORKFLOW": "latency",
        "GITHUB_JOB": "check",
        "GITHUB_TOKEN": TOKEN,
        "RUNNER_TEMP": str(tmp_path),
    }
    return Runner(tmp_path, variables)


def _git(repository: Path, *given: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *given]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.strip()


SPENDS = '    text = str(arguments.get("text", ""))\n'


def _commit(repository: Path, *, spent_s: float) -> str:
    """A revision of the server, which spends so long in each call; beside it another `bench`."""
    text = (TOP / "tests" / "servers" / "trivial.py").read_text("utf-8")
    assert SPENDS in text
    text = text.replace(SPENDS, f"    __import__('time').sleep({spent_s})\n{SPENDS}")
    (repository / "server.py").write_text(text, "utf-8")
    (repository / "bench").mkdir(exist_ok=True)
    (repository / "bench" / "__init__.py").write_text("raise SystemExit('not this one')\n", "utf-8")
    _git(repository, "add", "-A")
    _git(repository, "commit", "-qm", "a revision")
    return _git(repository, "rev-parse", "HEAD")


FEW = "--tool echo -n 5 -w 1 --pin none --seed 1 --blocks 12 --max-blocks 12"


def test_a_slower_head_fails_the_step_and_everything_the_runner_reads_says_so(
    runner: Runner,
) -> None:
    setup = f"mkdir -p .venv/bin && ln -s {sys.executable} .venv/bin/python"
    done = runner.step("measure", command=".venv/bin/python server.py", setup=setup, args=FEW)
    assert done.returncode == SLOWER, done.stdout + done.stderr
    outputs = runner.outputs()
    assert (outputs["code"], outputs["verdict"]) == ("1", "slower")
    verdict = store.verdict(outputs["folder"])
    assert verdict is not None
    assert verdict["base"].startswith("git:")
    gated = {(each["segment"], each["quantile"]): each for each in verdict["metrics"]}
    assert gated["call", "p50"]["verdict"] == "slower"
    assert runner.summary().startswith("### 🔴 mcp-latency: slower\n")
    assert "head is slower: " in runner.summary()
    assert (runner.folder / "mcp-latency" / "comment.md").read_text("utf-8") == runner.summary()
    assert _git(runner.folder / "repository", "worktree", "list").count("\n") == 0


def test_failed_calls_are_no_verdict_for_the_workflow_either(runner: Runner) -> None:
    few = FEW.replace("echo", "fail").replace("12", "6")
    done = runner.step("measure", command=f"{sys.executable} server.py", args=few)
    assert done.returncode == INVALID, done.stdout + done.stderr
    assert (runner.outputs()["code"], runner.outputs()["verdict"]) == ("3", "none")
    assert Path(runner.outputs()["folder"]).is_dir()
    assert "calls failed, so this decides nothing" in runner.summary()


def test_the_documented_job_of_gitlab_ends_as_ab_does_and_leaves_a_report(runner: Runner) -> None:
    (text,) = [block for block in _blocks("yaml") if "CI_MERGE_REQUEST" in block]
    found = yaml.safe_load(text)["latency"]
    repository = runner.folder / "repository"
    program = runner.folder / "bin" / "mcp-latency"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m bench "$@"\n', "utf-8")
    program.chmod(0o755)
    variables = {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(TOP),
        "COMMAND": f"{sys.executable} server.py",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": _git(repository, "rev-parse", "HEAD~1"),
    }
    assert variables.keys() - {"PATH", "PYTHONPATH"} <= set(re.findall(r"[A-Z_]{7,}", text))
    install, compare = found["script"]
    assert install == "pip install --quiet mcp-latency"
    compare = compare.replace(" ab ", f" ab {FEW} ", 1)
    compare = compare.replace("-m venv", "-m venv --without-pip")
    compare = compare.replace(".venv/bin/pip install -qq .", "test -x .venv/bin/python")
    codes = [
        subprocess.run(
            ["bash", "-c", line],
            cwd=repository,
            env={**os.environ, **variables},
            check=False,
        ).returncode
        for line in (compare, *found["after_script"])
    ]
    assert codes == [SLOWER, 0]
    report = (repository / found["artifacts"]["reports"]["junit"]).read_text("utf-8")
    assert '<failure type="failure" message="slower: ' in report


def test_no_token_reaches_a_server_and_nothing_it_says_is_a_command_of_the_workflow(
    runner: Runner,
) -> None:
    repository = runner.folder / "repository"
    told = "import os, sys; print('::error::mine', os.environ, file=sys.stderr); sys.exit(3)"
    (repository / "server.py").write_text(told, "utf-8")
    _git(repository, "commit", "-qam", "a server that tells all it knows")
    done = runner.step("measure", command=f"{sys.executable} server.py", args=FEW)
    assert done.returncode == COULD_NOT
    everything = [path for path in runner.folder.rglob("*") if path.is_file()]
    assert not [p for p in everything if TOKEN in p.read_text("utf-8", errors="replace")]
    assert TOKEN not in done.stdout + done.stderr
    quoted = done.stdout.partition("::stop-commands::")[2]
    token, _, shown = quoted.partition("\n")
    inside, _, after = shown.partition(f"::{token}::")
    assert "::error::mine" in inside
    assert not [line for line in after.splitlines() if line.startswith("::")]
    assert runner.outputs()["verdict"] == "none"


def test_without_a_verdict_the_step_fails_and_says_the_last_words(runner: Runner) -> None:
    done = runner.step("measure", command="python server.py", args="--no-such-option")
    assert done.returncode == 64
    assert runner.outputs() == {"code": "64", "verdict": "none", "folder": ""}
    assert "no verdict" in runner.summary()
    assert "--no-such-option" in runner.summary()


def test_nothing_to_compare_is_an_error_of_the_workflow(runner: Runner) -> None:
    done = runner.step("measure")
    assert done.returncode == 64
    assert "::error title=mcp-latency::nothing to compare; set the input command" in done.stdout


def _shallow(runner: Runner) -> None:
    """Put a checkout without history in the place of the repository, as actions/checkout does."""
    (runner.folder / "repository").rename(runner.folder / "origin")
    origin = f"file://{runner.folder / 'origin'}"
    _git(runner.folder, "clone", "-q", "--depth", "1", origin, "repository")


def test_a_base_that_a_shallow_checkout_lacks_is_fetched(runner: Runner) -> None:
    base = _git(runner.folder / "repository", "rev-parse", "HEAD~1")
    _shallow(runner)
    runner.step("measure", command="python server.py", args="--no-such-option")
    assert _git(runner.folder / "repository", "cat-file", "-t", base) == "commit"


def test_a_base_that_is_nowhere_is_said_with_what_next(runner: Runner) -> None:
    event = {"pull_request": {"number": 7, "base": {"sha": SHA}}}
    (runner.folder / "event.json").write_text(json.dumps(event), "utf-8")
    _shallow(runner)
    done = runner.step("measure", command="python server.py")
    assert done.returncode == 2
    assert f"the base {SHA} is not here and cannot be fetched" in done.stdout
    assert "fetch-depth: 0" in done.stdout


# The comment


class Api(NamedTuple):
    """GitHub's API as far as comments go: what was asked, and the comments it keeps."""

    base: str
    asked: list[tuple[str, str, str]]
    comments: list[dict[str, Any]]


@contextlib.contextmanager
def _api(comments: list[dict[str, Any]], *, refuses: bool = False) -> Iterator[Api]:
    asked: list[tuple[str, str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = int(re.findall(r"[?&]page=(\d+)", self.path)[0])
            self._answer(200, comments[(page - 1) * 100 : page * 100])

        def do_POST(self) -> None:
            comments.append({"id": len(comments) + 1, **self._content(), "user": {"type": "Bot"}})
            self._answer(201, comments[-1])

        def do_PATCH(self) -> None:
            (found,) = [c for c in comments if c["id"] == int(self.path.rpartition("/")[2])]
            found.update(self._content())
            self._answer(200, found)

        def _content(self) -> dict[str, Any]:
            length = int(self.headers["Content-Length"])
            content: dict[str, Any] = json.loads(self.rfile.read(length))
            return content

        def _answer(self, status: int, content: object) -> None:
            asked.append((self.command, self.path, self.headers["Authorization"]))
            self.send_response(403 if refuses else status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Stay silent."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Api(f"http://127.0.0.1:{server.server_port}", asked, comments)
        server.shutdown()


def _comment(runner: Runner, api: Api, text: str) -> subprocess.CompletedProcess[str]:
    (runner.folder / "mcp-latency").mkdir(exist_ok=True)
    (runner.folder / "mcp-latency" / "comment.md").write_text(text, "utf-8")
    variables = {**runner.variables, "GITHUB_API_URL": api.base}
    done = runner._replace(variables=variables).step("comment")
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return done


def test_a_comment_is_written_once_and_then_kept_up_to_date(runner: Runner) -> None:
    mark = marker(runner.variables)
    others = [
        {"id": n + 1, "body": f"{mark} mine too", "user": {"type": "User"}} for n in range(120)
    ]
    with _api(others) as api:
        _comment(runner, api, "first")
        assert api.comments[-1]["body"] == f"{mark}\nfirst"
        _comment(runner, api, "second")
    assert len(api.comments) == 121
    assert api.comments[-1]["body"] == f"{mark}\nsecond"
    assert [method for method, _, _ in api.asked] == ["GET", "GET", "POST", "GET", "GET", "PATCH"]
    assert {sent for _, _, sent in api.asked} == {f"Bearer {TOKEN}"}
    assert api.asked[0][1].startswith("/repos/owner/name/issues/7/comments?")


def test_a_comment_stays_under_what_github_takes(runner: Runner) -> None:
    with _api([]) as api:
        _comment(runner, api, "é\n" * 60_000)
    (comment,) = api.comments
    assert len(comment["body"].encode()) <= COMMENT_BYTES < 65_536


def test_a_token_that_may_not_comment_is_a_warning_and_no_failure(runner: Runner) -> None:
    with _api([], refuses=True) as api:
        done = _comment(runner, api, "text")
    assert "::warning" in done.stdout
    assert "pull-requests: write" in done.stdout


def test_without_a_pull_request_there_is_no_comment(runner: Runner) -> None:
    (runner.folder / "event.json").write_text("{}", "utf-8")
    with _api([]) as api:
        done = _comment(runner, api, "text")
    assert "no comment" in done.stdout
    assert not api.asked

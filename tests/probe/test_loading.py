"""Whatever starts the server loads the probe; whatever happens, the server does not see it."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import catalog, needs
from bench.probe import environment, read, reason
from tests.probe import lab
from tests.probe.client import STATELESS, Http, Json, Session, Stdio, columns
from tests.probe.proof import SERVERS, Setup, clean

TIME = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
BIN = Path(sys.executable).parent


def run(argv: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=60)


CLOCK = rb"\[[0-9/]+ [0-9:]+\]|\s+"  # the time of a log line, and the blanks in its place
ANSWERS = [
    Setup("lowlevel2", "http", STATELESS),
    Setup("mcpserver2", "stdio", STATELESS),
    Setup("mcpserver2", "http"),
    Setup("fastmcp1"),
    Setup("fastmcp4"),
    Setup("ts1.cjs"),
    Setup("ts2.mjs", "stdio", STATELESS),
    Setup("ts2.cjs", "http", STATELESS),
]


@pytest.mark.parametrize("setup", ANSWERS, ids=str)
def test_the_wire_the_exit_and_stderr_are_the_same(setup: Setup, tmp_path: Path) -> None:
    def talk(env: dict[str, str], folder: Path) -> tuple[bytes, int, bytes]:
        folder.mkdir()
        wire = Http if setup.transport == "http" else Stdio
        client = wire(setup.argv(), env, folder)
        session = Session(client, setup.era)
        session.open()
        session.call("echo", [{"text": "größe 漢字"}])
        if isinstance(client, Stdio):
            session.call("missing", [{}])
            session.call("echo", [{"text": 7}])
            assert client.process.stdin is not None
            os.write(client.process.stdin.fileno(), b"this is no message\n")
        session.call("echo", [{"text": "end"}])
        exit_code, stderr = client.close()
        told = b"" if isinstance(client, Http) else re.sub(CLOCK, b"", stderr)
        return bytes(client.wire), exit_code, told

    with ThreadPoolExecutor() as pool:
        plain = pool.submit(talk, clean(), tmp_path / "plain")
        probed = pool.submit(talk, environment(tmp_path / "p-", clean()), tmp_path / "probed")
    assert probed.result() == plain.result()
    assert len(read(tmp_path / "p-")) == 1


@pytest.mark.parametrize(
    "argv", [[sys.executable, "-c", "print(6 * 7)"], [lab.runtime(), "-p", "6 * 7"]]
)
def test_a_program_without_an_sdk_is_left_alone(argv: list[str], tmp_path: Path) -> None:
    done = run(argv, environment(tmp_path / "p-", clean()))
    assert (done.stdout, done.stderr, done.returncode) == ("42\n", "", 0)
    assert list(tmp_path.iterdir()) == []
    nothing = columns([])
    assert "No process left a probe file" in (reason(read(tmp_path / "p-"), nothing) or "")


def test_a_program_that_only_imports_the_sdk_leaves_no_file(tmp_path: Path) -> None:
    program = "import mcp, mcp.server.stdio, mcp.server.lowlevel"
    done = run([sys.executable, "-c", program], environment(tmp_path / "p-", clean()))
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("setup", [Setup("mcpserver2"), Setup("ts1.mjs")], ids=str)
def test_an_unwritable_folder_leaves_the_server_fine(setup: Setup, tmp_path: Path) -> None:
    prefix = tmp_path / "missing" / "p-"
    client = Stdio(setup.argv(), environment(prefix, clean()), tmp_path)
    session = Session(client, setup.era)
    session.open()
    assert session.call("echo", [{"text": "fine"}])[0].text == "fine"
    assert client.close() == (0, b"")
    assert read(prefix) == ()


def test_the_hidden_sitecustomize_runs_and_is_the_module_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nHIDDEN = True\nprint('ran')\n")
    env = environment(tmp_path / "p-", clean() | {"PYTHONPATH": str(tmp_path)})
    program = "import sitecustomize, sys; print(sitecustomize.HIDDEN, sitecustomize.__file__)"
    done = run([sys.executable, "-c", program], env)
    assert done.stdout == f"ran\nTrue {tmp_path / 'sitecustomize.py'}\n"
    assert done.stderr == ""


def test_a_hidden_sitecustomize_that_raises_fails_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('theirs')\n")
    plain = clean() | {"PYTHONPATH": str(tmp_path)}
    program = [sys.executable, "-c", "print('goes on')"]
    assert run(program, environment(tmp_path / "p-", plain)).stderr == run(program, plain).stderr
    assert run(program, environment(tmp_path / "p-", plain)).stdout == "goes on\n"


def test_our_folder_is_gone_from_the_module_path(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import sys; print(sys.path)"]
    assert (
        run(program, environment(tmp_path / "p-", clean())).stdout == run(program, clean()).stdout
    )


def test_their_node_options_hold_and_are_restored_for_the_servers_children(tmp_path: Path) -> None:
    theirs = "--no-warnings --stack-trace-limit=7"
    env = environment(tmp_path / "p-", clean() | {"NODE_OPTIONS": theirs})
    assert run([lab.runtime(), "-p", "Error.stackTraceLimit"], env).stdout == "7\n"
    server = tmp_path / "children.mjs"
    text = (lab.node() / "servers" / "ts1.mjs").read_text()
    program = "\nsetImmediate(() => console.error(process.env.NODE_OPTIONS));\n"
    server = lab.node() / "servers" / "children.mjs"
    server.write_text(text + program)
    client = Stdio([lab.runtime(), str(server)], env, tmp_path)
    Session(client, Setup("ts1.mjs").era).open()
    assert client.close() == (0, theirs.encode() + b"\n")


def test_a_script_read_as_data_is_not_altered(tmp_path: Path) -> None:
    home = lab.node() / "node_modules" / "@modelcontextprotocol" / "sdk" / "dist" / "esm"
    path = home / "server" / "mcp.js"
    program = (
        "import fs from 'node:fs'; import { pathToFileURL } from 'node:url';"
        f"const p = {str(path)!r}; await import(p);"
        "const a = fs.readFileSync(p, 'utf8'), b = await fs.promises.readFile(p, 'utf8');"
        "const c = await fs.promises.readFile(pathToFileURL(p));"
        "console.log(a.length, b.length, String(c).length)"
    )
    script = tmp_path / "read.mjs"
    script.write_text(program)
    done = run([lab.runtime(), str(script)], environment(tmp_path / "p-", clean()))
    size = len(path.read_text())
    assert (done.stdout, done.stderr) == (f"{size} {size} {size}\n", "")


def starts() -> dict[str, list[str]]:
    """Ways of starting a Python server; the console script is that of `make servers`."""
    time = catalog.server("time")
    assert time.folder is not None
    words = needs.substitutions(time.name, Path(time.folder), time.needs)
    return {
        "console script": [f"{words['bin']}/mcp-server-time", "--local-timezone", "UTC"],
        "python -m": [words["python"], "-m", "mcp_server_time", "--local-timezone", "UTC"],
        "sh": ["sh", "-c", f"{sys.executable} {SERVERS / 'lowlevel2.py'}; :"],
        "launcher": [
            sys.executable,
            "-c",
            "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
            sys.executable,
            str(SERVERS / "lowlevel2.py"),
        ],
        "uv run": [
            *(str(BIN / "uv"), "run", "--offline", "--no-project", "--python", sys.executable),
            str(SERVERS / "lowlevel2.py"),
        ],
    }


@pytest.mark.parametrize("name", ["console script", "python -m", "sh", "launcher", "uv run"])
def test_every_way_of_starting_a_python_server_loads_it(name: str, tmp_path: Path) -> None:
    arguments: Json = {"name": "echo", "arguments": {"text": "a"}}
    if name in ("console script", "python -m"):
        arguments = {"name": "convert_time", "arguments": TIME}
    started(starts()[name], clean(), tmp_path, arguments, "python")


def test_npm_exec_loads_it_into_the_server_and_not_into_npm(tmp_path: Path) -> None:
    argv = [*needs.npm_command(), "exec", "--offline", "--prefix", str(lab.node())]
    argv += ["--", "mcp-server-everything", "stdio"]
    arguments: Json = {"name": "echo", "arguments": {"message": "a"}}
    started(argv, clean(lab.environment()), tmp_path, arguments, "node")


def started(
    argv: list[str], base: dict[str, str], folder: Path, arguments: Json, language: str
) -> None:
    client = Stdio(argv, environment(folder / "p-", base), folder)
    session = Session(client, Setup("").era)
    session.open()
    calls = session.ask("tools/call", [arguments])
    client.close()
    files = read(folder / "p-")
    assert [file.language for file in files] == [language]
    assert "error" not in calls[0].reply
    assert reason(files, columns(calls)) is None


def test_python_that_ignores_its_environment_is_named(tmp_path: Path) -> None:
    argv = [sys.executable, "-E", str(SERVERS / "lowlevel2.py")]
    client = Stdio(argv, environment(tmp_path / "p-", clean()), tmp_path)
    session = Session(client, Setup("lowlevel2").era)
    session.open()
    calls = session.call("echo", [{"text": "a"}])
    client.close()
    assert "python -I, -E or -S" in (reason(read(tmp_path / "p-"), columns(calls)) or "")


def test_an_sdk_with_other_names_runs_and_its_failed_hook_is_counted(tmp_path: Path) -> None:
    package = tmp_path / "code" / "mcp" / "server" / "lowlevel"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").write_text("")
    (package / "server.py").write_text("class Dispatcher: pass\n")
    env = environment(tmp_path / "p-", clean() | {"PYTHONPATH": str(tmp_path / "code")})
    program = "from mcp.server.lowlevel.server import Dispatcher; print(Dispatcher.__name__)"
    done = run([sys.executable, "-c", program], env)
    assert (done.stdout, done.stderr, done.returncode) == ("Dispatcher\n", "", 0)
    (file,) = read(tmp_path / "p-")
    assert file.errors == 1
    assert file.last_error.startswith("hook mcp.server.lowlevel.server: AttributeError")
    assert "The probe met 1 errors" in (reason((file,), columns([])) or "")

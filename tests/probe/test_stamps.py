"""Real servers: every call has every stamp, in order, with the right id, around the tool itself."""

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from bench.probe import environment, join, read, reason
from tests.probe.client import LIMIT_S, STATEFUL, STATELESS, Http, Session, Stdio, columns
from tests.probe.proof import Setup, clean, faults, prove

HERE = [  # the SDK that stands in our own environment; `matrix` has every combination
    Setup("lowlevel2", "stdio", STATEFUL),
    Setup("lowlevel2", "http", STATELESS),
    Setup("lowlevel2", "http", STATEFUL, options=("--parser", "h11")),
    Setup("mcpserver2", "stdio", STATELESS),
    Setup("mcpserver2", "http", STATELESS, "spin_sync"),
    Setup("mcpserver2", "http", STATEFUL, options=("--json", "--loop", "uvloop")),
]
ELSEWHERE = [  # environments of `lab`
    Setup("lowlevel1", "http"),
    Setup("fastmcp1", "stdio", STATEFUL, "spin_sync"),
    Setup("fastmcp1", "http", STATEFUL, options=("--stateless", "--json")),
    Setup("fastmcp4", "stdio", STATELESS),
    Setup("fastmcp4", "http", STATEFUL, "spin_sync"),
    Setup("ts1.mjs", "stdio", STATEFUL, "spin_sync"),
    Setup("ts1.cjs", "stdio", STATEFUL, options=("--lowlevel",)),
    Setup("ts1.cjs", "http", STATEFUL, options=("--json",)),
    Setup("ts1.mjs", "http", STATEFUL, options=("--stateless",)),
    Setup("ts1-minified.cjs"),
    Setup("ts2.mjs", "stdio", STATELESS),
    Setup("ts2.cjs", "http", STATELESS, "spin_sync"),
    Setup("ts2.cjs", "http", STATEFUL, options=("--lowlevel",)),
    Setup("ts2-minified.cjs", "stdio", STATEFUL),
]


@pytest.mark.parametrize("setup", HERE + ELSEWHERE, ids=str)
def test_every_call_has_every_stamp_in_order(setup: Setup, tmp_path: Path) -> None:
    proof = prove(setup, tmp_path, env=clean())
    assert faults(setup, proof) == []
    assert reason(proof.files, proof.sent) is None


@pytest.mark.parametrize("setup", [Setup("mcpserver2"), Setup("ts1.mjs")], ids=str)
def test_work_is_at_least_as_long_as_the_tool_spins(setup: Setup, tmp_path: Path) -> None:
    client = Stdio(setup.argv(), environment(tmp_path / "p-", clean()), tmp_path)
    session = Session(client, setup.era)
    session.open()
    spins = [1_000, 200_000, 3_000_000]
    calls = [session.call("spin", [{"work_ns": work_ns}])[0] for work_ns in spins]
    client.close()
    joined = join(read(tmp_path / "p-")[0].records, columns(calls))
    assert (joined.left_ns - joined.entered_ns >= np.array(spins)).all()


@pytest.mark.parametrize(
    ("server", "transport"),
    [
        ("mcpserver2", "stdio"),
        ("mcpserver2", "http"),
        ("fastmcp1", "stdio"),
        ("ts1.mjs", "stdio"),
        ("ts1.mjs", "http"),
        ("ts2.mjs", "http"),
    ],
)
def test_large_and_foreign_replies_keep_their_order(
    server: str, transport: str, tmp_path: Path
) -> None:
    setup = Setup(server, transport)
    wire = Http if transport == "http" else Stdio
    client = wire(setup.argv(), environment(tmp_path / "p-", clean()), tmp_path)
    session = Session(client, setup.era)
    session.open()
    texts = [letter * size for size in (1, 3000, 9000, 200_000) for letter in "xé漢"]
    calls = [session.call("echo", [{"text": text}])[0] for text in texts]
    client.close()
    assert [call.text for call in calls] == texts
    files = read(tmp_path / "p-")
    assert reason(files, columns(calls)) is None


@pytest.mark.parametrize("setup", [Setup("lowlevel2"), Setup("ts1.mjs")], ids=str)
def test_a_string_id_is_kept_and_never_taken_for_a_number(setup: Setup, tmp_path: Path) -> None:
    client = Stdio(setup.argv(), environment(tmp_path / "p-", clean()), tmp_path)
    session = Session(client, setup.era)
    session.open()
    client.send(session.body("tools/call", {"name": "echo", "arguments": {}}) | {"id": "77"})
    _, reply = client.read()
    numbered = session.call("echo", [{"text": "a"}])
    client.close()
    assert reply["id"] == "77"
    records = read(tmp_path / "p-")[0].records
    strings = records[records["flags"] & 1 > 0]
    assert strings["id"].tobytes().rstrip(b"\0") == b"77"
    assert (join(records, columns(numbered)).writing_ns > 0).all()


def test_the_header_tells_process_sdk_and_start(tmp_path: Path) -> None:
    proof = prove(Setup("lowlevel2"), tmp_path, sequential=1, bursts=0, env=clean())
    (file,) = proof.files
    assert file.pid == json.loads(proof.calls[0].text)["pid"]
    assert file.language == "python"
    assert file.sdk.startswith("mcp 2.")
    assert file.process_up_ns < (file.exit_ns or 0)
    assert proof.exit_code == 0


@pytest.mark.parametrize(
    ("server", "transport"),
    [
        ("lowlevel2", "stdio"),
        ("lowlevel2", "http"),
        ("mcpserver2", "http"),
        ("fastmcp4", "stdio"),
        ("ts1.mjs", "stdio"),
        ("ts2.cjs", "http"),
    ],
)
def test_a_signal_takes_the_hooks_off_and_puts_them_on_again(
    server: str, transport: str, tmp_path: Path
) -> None:
    setup = Setup(server, transport)
    wire = Http if transport == "http" else Stdio
    env = environment(tmp_path / "p-", clean()) | {"MCP_LATENCY_PROBE_TOGGLE": "1"}
    client = wire(setup.argv(), env, tmp_path)
    session = Session(client, setup.era)
    session.open()
    seen = []
    for _ in range(4):
        calls = [session.call("echo", [{"text": "a"}])[0] for _ in range(5)]
        seen.append(columns(calls))
        client.process.send_signal(signal.SIGUSR2)
        for _ in range(2):  # the loop has turned: the signal was handled
            session.call("echo", [{"text": "a"}])
    client.close()
    (file,) = read(tmp_path / "p-")
    stamped = [join(file.records, calls).writing_ns > 0 for calls in seen]
    assert [stamps.tolist() for stamps in stamped] == [[True] * 5, [False] * 5] * 2
    assert file.errors == 0


@pytest.mark.parametrize(
    "setup",
    [Setup("lowlevel2"), Setup("mcpserver2", "http"), Setup("ts1.mjs"), Setup("ts2.mjs", "http")],
    ids=str,
)
def test_the_records_of_a_server_that_is_killed_are_there(setup: Setup, tmp_path: Path) -> None:
    wire = Http if setup.transport == "http" else Stdio
    client = wire(setup.argv(), environment(tmp_path / "p-", clean()), tmp_path)
    session = Session(client, setup.era)
    session.open()
    calls = columns([session.call("echo", [{"text": "a"}])[0] for _ in range(100)])

    def complete() -> bool:
        return reason(read(tmp_path / "p-"), calls) is None

    limit = time.monotonic() + LIMIT_S
    while not complete() and time.monotonic() < limit:
        time.sleep(0.01)
    client.process.kill()
    client.close()
    assert complete()
    assert read(tmp_path / "p-")[0].exit_ns is None

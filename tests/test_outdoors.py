"""HTTP as it is outside: TLS, proxies, redirects, locked doors, waits, and lost sessions."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import trustme

from bench.errors import COULD_NOT, FINE, INVALID, BenchError
from bench.wire import tls
from tests.outside import Program, Said, listening, module

FEW = ("--json", "-r", "1", "-w", "0", "--pin", "none", "--era", "stateful")
SECRET = "t0ken"


class Papers(NamedTuple):
    """The files of a certificate that nobody knows, and of who issued it."""

    certificate: str
    key: str
    ca: str


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    """For 127.0.0.1 and localhost."""
    folder = tmp_path_factory.mktemp("papers")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    paths = Papers(*(str(folder / name) for name in Papers._fields))
    issued.cert_chain_pems[0].write_to_path(paths.certificate)
    issued.private_key_pem.write_to_path(paths.key)
    authority.cert_pem.write_to_path(paths.ca)
    return paths


@contextlib.contextmanager
def proxied() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A proxy, by its port, and its process, whose output is its log."""
    with subprocess.Popen(module("proxy"), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


def log_of(process: subprocess.Popen[str]) -> list[str]:
    """What a proxy was asked."""
    process.kill()
    assert process.stdout is not None
    return process.stdout.read().splitlines()


def run(folder: Path, url: str, *words: str, calls: int = 2) -> Said:
    """A short run of what is at an address."""
    return Program(folder)("run", "--url", url, "--tool", "echo", *FEW, "-n", str(calls), *words)


def test_a_server_behind_tls_is_measured_with_its_handshake_apart(
    papers: Papers, tmp_path: Path
) -> None:
    with listening("http_outside", papers.certificate, papers.key) as server:
        url = f"{server.base}/mcp".replace("http:", "https:")
        said = run(tmp_path, url, "--ca", papers.ca)
        per_call = run(tmp_path, url, "--ca", papers.ca, "--connection", "per-call")
    assert said.verdict == FINE, said.err
    segments = said.cell["segments"]
    assert {"connect", "tls", "initialize"} <= set(segments)
    ledger = said.cell["ledger"]["setup"]
    assert sum(value for part, value in ledger.items() if part != "setup") == ledger["setup"]
    assert "tls" in ledger
    assert per_call.verdict == FINE, per_call.err
    assert per_call.cell["segments"]["call_connect"]["n"] == 2


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://127.0.0.1:{port}/mcp", "its certificate is not trusted: "),
        ("https://localhost:{port}/mcp", "its certificate is not trusted: "),
    ],
)
def test_a_certificate_that_nobody_vouches_for_is_named(
    address: str, words: str, papers: Papers, tmp_path: Path
) -> None:
    with listening("http_outside", papers.certificate, papers.key) as server:
        said = run(tmp_path, address.format(port=urlsplit(server.base).port))
    assert said.code == COULD_NOT
    assert words in said.err


def test_what_speaks_no_tls_is_named(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/mcp".replace("http:", "https:"))
    assert said.code == COULD_NOT
    assert "no TLS: " in said.err


def test_a_file_that_holds_no_certificate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    with pytest.raises(BenchError, match=r"ca\.pem holds no certificates: "):
        tls.context(str(path))
    path.write_text("nothing", "utf-8")
    with pytest.raises(BenchError, match=r"ca\.pem holds no certificates: "):
        tls.context(str(path))


def test_a_proxy_is_gone_through_and_named_and_its_password_is_not(
    papers: Papers, tmp_path: Path
) -> None:
    with proxied() as (port, process):
        proxy = ("--proxy", f"http://user:{SECRET}@127.0.0.1:{port}")
        with listening("http_outside") as server:
            plain = run(tmp_path, f"{server.base}/mcp", *proxy)
        with listening("http_outside", papers.certificate, papers.key) as server:
            url = f"{server.base}/mcp".replace("http:", "https:")
            secure = run(tmp_path, url, "--ca", papers.ca, *proxy)
        log = log_of(process)
    for said in (plain, secure):
        assert said.verdict == FINE, said.err
        assert any("through the proxy http://" in each for each in said.cell["findings"])
        assert SECRET not in said.out + said.err
    verbs = [line.split()[0] for line in log]
    assert verbs.count("CONNECT") == 2  # to find out what it speaks, and for the run
    assert verbs.count("POST") >= 5
    assert all(line.split()[2] == "Basic" for line in log)


def test_a_proxy_that_gives_no_way_through_is_named(tmp_path: Path) -> None:
    with proxied() as (port, _):
        said = run(tmp_path, "https://refused.local/mcp", "--proxy", f"http://127.0.0.1:{port}")
    assert said.code == COULD_NOT
    assert "the proxy gave no way through: HTTP/1.1 403" in said.err


def test_a_proxy_of_the_environment_is_not_used_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/mcp")
    assert said.verdict == FINE, said.err
    assert said.document["warnings"] == [
        "HTTP_PROXY is set and was not used; try: --proxy URL to measure through it"
    ]


def test_a_redirect_is_followed_once_in_the_setup_and_then_its_end_is_used(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/here", calls=5)
        paths = [each["headers"]["host"] for each in server.seen()["requests"]]
    assert said.verdict == FINE, said.err
    (warning,) = [each for each in said.cell["warnings"] if "redirected" in each]
    assert warning.startswith("redirected once, in the setup, to http://127.0.0.1:")
    assert said.cell["outcomes"]["ok"] == 5
    assert said.cell["wire"]["requests_per_call"] == 1.0
    assert paths


def test_a_token_stays_with_its_own_origin(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/far", "-H", f"Authorization: Bearer {SECRET}")
        seen = server.seen()["requests"]
    assert said.verdict == FINE, said.err
    given = [each["headers"].get("authorization") for each in seen]
    assert given[0] == f"Bearer {SECRET}"
    here = [each for each in seen if each["headers"]["host"].startswith("localhost")]
    assert here
    assert not [each for each in here if "authorization" in each["headers"]]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("turned", "redirect_would_change_method: it leads to /mcp"),
        ("twice", "a second redirect is not followed"),
        ("nowhere", "it leads nowhere"),
        ("locked", "HTTP 401 without a reply: who are you?; it asks for: Bearer resource_metadata"),
        ("locked", "try: -H 'Authorization: Bearer …'"),
        ("closed", "HTTP 403 without a reply: not you; we sent no Origin"),
        ("named", "HTTP 421 without a reply: Invalid Host header; it does not serve the Host"),
        ("closing", "it asks to wait: Retry-After 7"),
    ],
)
def test_a_door_that_does_not_open_says_why_and_what_may_help(
    path: str, words: str, tmp_path: Path
) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/{path}")
    assert said.code == COULD_NOT
    assert words in said.err


def test_a_host_and_a_token_of_the_users_own_open_it_and_reach_no_file(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        named = run(tmp_path, f"{server.base}/named", "-H", "Host: bench.local:8000")
        locked = run(tmp_path, f"{server.base}/locked", "-H", f"Authorization: Bearer {SECRET}")
    for said in (named, locked):
        assert said.verdict == FINE, said.err
        assert SECRET not in said.out + said.err
    for path in (tmp_path / "results").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_a_call_that_is_put_off_is_counted_and_never_timed(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/busy", calls=3)
    assert said.code == INVALID
    assert said.cell["outcomes"]["transport_error"] == 3
    assert "call" not in said.cell["segments"]
    assert said.cell["wire"]["put_off"] == 4
    (warning,) = [each for each in said.cell["warnings"] if "put off" in each]
    assert warning.startswith("4 calls were put off with 429 or 503 (Retry-After 30)")


def test_a_session_that_is_lost_is_opened_anew_and_costs_one_call(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/forgets", calls=12)
        seen = server.seen()["requests"]
    outcomes = said.cell["outcomes"]
    assert (outcomes["ok"], outcomes["transport_error"]) == (11, 1)
    assert said.cell["wire"]["sessions_lost"] == 1
    (warning,) = [each for each in said.cell["warnings"] if "opened anew" in each]
    assert warning.startswith("1 sessions were lost in mid-run and opened anew")
    asked = [each for each in seen if each["message"]]
    opened = [each for each in asked if each["message"]["method"] == "initialize"]
    assert [each["headers"].get("mcp-session-id") for each in opened] == [None, None, None]
    assert said.cell["segments"]["initialize"]["n"] == 1


def test_a_session_that_is_lost_again_at_once_ends_the_launch(tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/always", calls=5)
    assert said.code == INVALID
    assert "the session was lost twice in a row" in said.out


@pytest.mark.parametrize("ack", ["delayed", "quick"])
def test_how_we_acknowledge_is_a_variant_and_set_on_the_socket(ack: str, tmp_path: Path) -> None:
    with listening("http_outside") as server:
        said = run(tmp_path, f"{server.base}/mcp", "--ack", ack)
    assert said.verdict == FINE, said.err
    assert said.cell["variant"]["ack"] == ack


def test_a_server_on_ipv6_is_reached_and_its_address_kept(tmp_path: Path) -> None:
    assert socket.has_ipv6
    with listening("http_outside", "--ipv6") as server:
        port = urlsplit(server.base).port
        said = run(tmp_path, f"http://[::1]:{port}/mcp")
    assert said.verdict == FINE, said.err
    (launch,) = said.run.launch_table.to_pylist()
    assert '"address": "::1"' in launch["details"]


def test_a_server_that_is_not_ready_when_it_says_so_is_asked_again_in_the_setup(
    tmp_path: Path,
) -> None:
    with listening("http_settles") as server:
        said = run(tmp_path, f"{server.base}/mcp", calls=3)
    assert said.verdict == FINE, said.err
    assert said.cell["wire"]["settle_retries"] > 0
    assert said.cell["segments"]["tools_list"]["min_ns"] >= 20_000_000
    assert said.cell["outcomes"]["ok"] == 3
    assert any("was not ready" in each for each in said.cell["warnings"])

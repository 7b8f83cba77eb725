"""What makes two machines one class, and how it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import fingerprint, host
from tests.stored import HOST


def test_a_class_of_hosts_is_readable_and_lasts_over_updates_and_load() -> None:
    name = fingerprint.host_class(HOST)
    assert name.startswith("amd-epyc-7763-64-core-processor-4c-linux6.8-py3.12-")
    updated = {
        **HOST,
        "system": "Linux 6.8.0-1030-azure",
        "python": "3.12.9",
        "noise": {"load_1min": 7.0},
        "pyperf": {"cpu_freq": "0-3=2445 MHz", "load_avg_1min": "7"},
    }
    assert fingerprint.host_class(updated) == name


@pytest.mark.parametrize(
    "fact",
    [
        {"cpu": "AMD EPYC 9V74"},
        {"cores": 2},
        {"machine": "aarch64"},
        {"system": "Linux 6.11.0"},
        {"python": "3.13.0"},
        {"cgroup": {"cpus": 2.0}},
        {"cgroup": {"memory_bytes": 1 << 30}},
        {"cores_allowed": 1},
    ],
    ids=str,
)
def test_a_fact_that_sets_the_speed_makes_another_class(fact: dict[str, object]) -> None:
    assert fingerprint.host_class({**HOST, **fact}) != fingerprint.host_class(HOST)


def test_a_host_that_said_nothing_still_has_a_class() -> None:
    assert fingerprint.host_class({}).startswith("unknown-?c-unknown-pyunknown-")


def test_a_placement_reads_as_client_and_server_cores() -> None:
    assert fingerprint.placement({"placement": {"client": [0], "server": [1, 2]}}) == "0:1,2"
    assert fingerprint.placement({"placement": {"client": [], "server": []}}) == "none"
    assert fingerprint.placement({}) == "none"


def test_the_tightest_limit_of_the_groups_around_this_process_counts(tmp_path: Path) -> None:
    own = host._own_group()
    inner = tmp_path / own.strip("/") / ""
    inner.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cpu.max").write_text("150000 100000\n", "ascii")
    (tmp_path / "memory.max").write_text("max\n", "ascii")
    assert host._limits(tmp_path) == {"cpus": 1.5}
    if inner != tmp_path:
        (inner / "cpu.max").write_text("max 100000\n", "ascii")
        (inner / "memory.max").write_text("1073741824\n", "ascii")
        assert host._limits(tmp_path)["memory_bytes"] == 1 << 30


def test_this_host_has_facts_that_last() -> None:
    known = fingerprint.host(host.facts())
    assert {"cpu", "cores", "machine", "system", "python"} <= known.keys()
    assert not {"noise", "load_1min", "boot_time"} & known.keys()


def test_a_question_is_all_that_a_scenario_asks_but_not_how_often_or_of_whom() -> None:
    step = {"tool": "null", "arguments": {"limit": 0}}
    asked = {"name": "s", "call": [step], "warmup": 5, "servers": ["a"], "launches": 10, "calls": 9}

    def question(**keys: object) -> dict[str, object]:
        return fingerprint.question({"scenarios": [{**asked, **keys}]}, "s")

    assert question() == {"call": [step], "warmup": 5}
    assert question(servers=["b"], launches=20, calls=40, about="words") == question()
    assert question(call=[{**step, "method": None, "event": None}], listen=False) == question()
    assert question(call=[{**step, "arguments": {"limit": 1}}]) != question()
    assert question(honour_cache=True) != question()
    assert fingerprint.digest(question()) != fingerprint.digest(question(warmup=6))

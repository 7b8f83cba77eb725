"""Two servers against each other: what got slower is found and named, nothing else is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from bench import assertions, catalog, certificate, gate, sides, store
from bench.comparison import Sample
from bench.errors import COULD_NOT, FINE, INVALID, SLOWER, USAGE, UsageError
from bench.gate import Rule
from bench.prepare import Wish
from bench.report import decision, markdown, terminal
from tests.outside import Program, Said, module, toml

FEW = ("--json", "--tool", "echo", "-n", "10", "-w", "1", "--pin", "none", "--seed", "1")
BLOCKS = 400


def slower(call_us: float, start_ms: float = 0) -> str:
    """The command line of a server that is slower by so much."""
    return " ".join(module("slower", str(call_us), str(start_ms)))


def ab(folder: Path, base: str, head: str, *words: str, blocks: int = 12) -> Said:
    """One comparison with one look."""
    looks = ("--blocks", str(blocks), "--max-blocks", str(blocks))
    return Program(folder)("ab", "--base", base, "--head", head, *FEW, *looks, *words)


def verdicts(document: Mapping[str, Any]) -> dict[str, str]:
    """The verdict of each metric."""
    found = document["metrics"]
    return {f"{each['segment']} {each['quantile']}": each["verdict"] for each in found}


def test_a_server_that_spins_longer_in_its_calls_is_slower_and_the_call_is_named(
    tmp_path: Path,
) -> None:
    said = ab(tmp_path, slower(1_000), slower(3_000))
    assert said.code == SLOWER, said.err
    document = said.document
    assert document["verdict"] == "slower"
    assert verdicts(document)["call p50"] == "slower"
    assert verdicts(document)["call p90"] in ("slower", "cannot tell")  # of ten calls, under load
    call = next(m for m in document["metrics"] if m["segment"] == "call")
    assert call["low"] > 1.5
    assert document["blocks"] == 12
    assert store.verdict(tmp_path / document["path"]) == document
    text = terminal.printed(decision.page(document), width=200)
    assert "→ head is slower: " in text
    assert "call p50 by " in text.partition("→ head is slower: ")[2]


def test_a_server_that_starts_later_is_slower_to_set_up_and_not_to_call(tmp_path: Path) -> None:
    said = ab(tmp_path, slower(2_000), slower(2_000, 300))
    assert said.code == SLOWER, said.err
    found = verdicts(said.document)
    assert found["setup p50"] == found["first_result p50"] == "slower"
    assert "slower" not in (found["call p50"], found["call p90"])


def test_swapping_the_sides_mirrors_the_verdict(tmp_path: Path) -> None:
    said = ab(tmp_path, slower(3_000), slower(1_000))
    assert verdicts(said.document)["call p50"] == "faster"
    assert said.code in (FINE, COULD_NOT)


def test_two_blocks_compare_nothing_and_that_is_no_success(tmp_path: Path) -> None:
    said = ab(tmp_path, slower(0), slower(0), blocks=2)
    assert said.code == COULD_NOT
    assert said.document["metrics"] == []
    assert said.document["verdict"] == "cannot tell"


def test_calls_that_fail_decide_nothing(tmp_path: Path) -> None:
    said = ab(tmp_path, slower(0), slower(0), "--tool", "fail", blocks=6)
    assert said.code == INVALID
    assert said.document["valid"] is False


def test_a_side_that_cannot_be_started_is_named_and_nothing_is_decided(tmp_path: Path) -> None:
    said = ab(tmp_path, slower(0), "no-such-program")
    assert said.code == COULD_NOT
    assert "no-such-program" in said.err
    assert said.left == []


def test_a_side_that_leaves_at_its_start_gives_a_document_without_figures(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.recipe("gone", stdio=toml(module("exits_early")), eras='["stateful"]')
    program.recipe("there", stdio=toml(module("trivial")), eras='["stateful"]')
    said = program("ab", "--base", "there", "--head", "gone", *FEW)
    assert said.code == COULD_NOT
    assert "left with status" in said.err
    document = said.document
    assert (document["verdict"], document["metrics"]) == ("cannot tell", [])
    assert (document["status"], document["noise_percent"]) == ("incomplete", None)
    assert "left with status" in document["failed"]
    assert store.verdict(tmp_path / document["path"]) == document


@pytest.mark.parametrize("words", ["python 'x", "git:HEAD -- python 'x"])
def test_words_that_are_no_command_line_are_wrong_usage(tmp_path: Path, words: str) -> None:
    said = ab(tmp_path, words, slower(0))
    assert said.code == USAGE
    assert "is no command line" in said.err


def test_values_that_a_side_says_of_its_variables_reach_no_file_and_no_terminal(
    tmp_path: Path,
) -> None:
    secret = "hunter2-planted-secret"
    program = Program(tmp_path)
    leaky = {"stdio": toml(module("tells_secret")), "eras": '["stateful"]'}
    program.recipe("leaky", **leaky, env=f"{{MY_VALUE = '{secret}'}}")
    said = program("ab", "--base", "leaky", "--head", "leaky", *FEW, "--blocks", "6")
    assert said.document["blocks_made"] >= 6, said.err
    kept = [path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert any(b"[hidden]" in text for text in kept)
    assert secret not in said.out + said.err + b"".join(kept).decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("server", "scenario"), [("tickets-python", "tickets"), ("tickets-ts2", "sdks"), ("git", "git")]
)
def test_a_server_of_ours_is_asked_what_is_most_about_it(server: str, scenario: str) -> None:
    asked = anyio.run(sides.prepared, [catalog.server(server)] * 2, Wish())
    assert asked.name == scenario


def test_a_scenario_is_put_to_both_sides_and_one_that_names_a_side_is_found(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    program.recipe("there", stdio=toml(module("trivial")), eras='["stateful"]')
    ask = '[[call]]\ntool = "echo"\narguments = {text = "%s"}\n'
    program.scenario("known", 'servers = ["there"]\n' + ask % "found")
    program.scenario("other", ask % "named")
    for words, text in (((), "found"), (("other",), "named")):
        sides = ("--base", "there", "--head", "there", "--json", "--pin", "none", "-n", "3")
        said = program("ab", *words, *sides, "--blocks", "6", "--max-blocks", "6")
        lines = store.transcript(tmp_path / said.document["path"])
        assert any(f'"{text}"' in line["body"] for line in lines)


def test_two_servers_meet_in_the_era_that_both_speak(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.recipe("old", stdio=toml(module("trivial")), eras='["stateful"]')
    program.recipe("new", stdio=toml(module("trivial")), eras='["stateless"]')
    words = (*FEW, "--blocks", "6", "--max-blocks", "6")
    head = " ".join(module("stateless_only"))
    said = program("ab", "--base", slower(0), "--head", head, *words)
    assert said.document["cell"].endswith("/stateless")
    apart = program("ab", "--base", "old", "--head", "new", *words)
    assert apart.code == USAGE
    assert "no era in common" in apart.err


def test_what_is_asserted_of_head_is_held_against_it(tmp_path: Path) -> None:
    holds = ("--assert", "call.p50 < 1s", "--assert", "setup.p50 > 1ns")
    said = ab(tmp_path, slower(0), slower(0), *holds, blocks=6)
    assert [each["ok"] for each in said.document["assertions"]] == [True, True]
    broken = ab(tmp_path, slower(0), slower(500), "--assert", "call.p50 < 400us", blocks=6)
    assert broken.code == SLOWER
    unknown = ab(tmp_path, slower(0), slower(0), "--assert", "call.p99 < 1s", blocks=6)
    assert unknown.document["assertions"][0]["ok"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("call.p99", "say it as 'call.p99 < 5ms'"),
        ("cal.p99 < 5ms", 'no segment "cal", did you mean "call"'),
        ("call.p98 < 5ms", 'no figure "p98"'),
        ("call.p99 < 5", "a limit has a unit"),
        ("call.p99 < 5.5.5ms", "is no number"),
    ],
)
def test_an_assertion_that_cannot_be_read_is_refused_with_words(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        assertions.read(text)
    assert words.partition(",")[0] in str(caught.value)


def test_an_assertion_has_its_limit_in_nanoseconds() -> None:
    assert assertions.read("call.p90 <= 2.5us").limit_ns == 2_500
    assert assertions.read("setup.p50<1s").limit_ns == 1e9


def test_a_revision_is_checked_out_set_up_measured_and_gone_again(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*run, "init", "-q", "-b", "main", str(tmp_path)], check=True)
    for wait_ms in (1, 4):
        server.write_text("import sys\n" + _serving(wait_ms), "utf-8")
        subprocess.run([*run, "add", "server.py"], cwd=tmp_path, check=True)
        subprocess.run([*run, "commit", "-q", "-m", str(wait_ms)], cwd=tmp_path, check=True)
    command = f"{module('x')[0]} server.py"
    base, head = (f"git:{rev} -- {command}" for rev in ("HEAD~1", "HEAD"))
    said = ab(tmp_path, base, head, "--setup", "touch made")
    assert said.document["verdict"] == "slower", said.err
    assert verdicts(said.document)["call p50"] == "slower"
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1
    unknown = ab(tmp_path, "git:nothing -- true", head)
    assert (unknown.code, "git knows no revision" in unknown.err) == (COULD_NOT, True)
    failing = ab(tmp_path, base, head, "--setup", "exit 3")
    assert "--setup ended with status 3" in failing.err
    malformed = ab(tmp_path, "git:HEAD", head)
    assert malformed.code == USAGE


def _serving(wait_ms: int) -> str:
    here = Path(__file__).parent.parent
    return (
        f"sys.path.insert(0, {str(here)!r})\n"
        f"sys.argv[1:] = ['{wait_ms * 1000}', '0']\n"
        "import runpy\nrunpy.run_module('tests.servers.slower', run_name='__main__')\n"
    )


def test_a_machine_is_certified_and_the_next_comparison_quotes_it(tmp_path: Path) -> None:
    program = Program(tmp_path)
    said = program("aa", slower(0), *FEW, "--blocks", "8")
    assert said.code == FINE, said.err
    document = said.document
    assert document["blocks"] == 8
    assert 0 <= document["suite_percent"] <= 100
    kept = json.loads(next((tmp_path / "results" / "aa").iterdir()).read_text("utf-8"))
    assert kept == document
    later = ab(tmp_path, slower(0), slower(0), blocks=6)
    assert later.document["machine"]["blocks"] == 8
    certificate_file = next((tmp_path / "results" / "aa").iterdir())
    certificate_file.write_text("{", "utf-8")
    assert certificate.quoted(later.run.meta["host"], tmp_path / "results") is None
    text = markdown.printed(decision.certificate(document), title="aa")
    assert "either side being base by the toss of a coin" in text


def test_a_server_whose_calls_fail_certifies_no_machine(tmp_path: Path) -> None:
    said = Program(tmp_path)("aa", slower(0), *FEW, "--tool", "fail", "--blocks", "6")
    assert said.code == INVALID
    assert not (tmp_path / "results" / "aa").exists()


def _decided(shift: float, noise: float, rule: Rule, seed: int, blocks: int = 20) -> str:
    random = np.random.default_rng(seed)
    rows = [
        (segment, q, random.normal(np.log1p(shift), noise, blocks))
        for segment, q in (("setup", 0.5), ("call", 0.5), ("call", 0.9), ("work", 0.5))
    ]
    return gate.verdict(gate.judged(rows, rule))


def test_a_suite_hardly_alarms_on_the_same_server_and_finds_what_matters() -> None:
    rule = Rule()
    clean = [_decided(0, 0.005, rule, seed) for seed in range(BLOCKS)]
    noisy = [_decided(0, 0.03, rule, seed) for seed in range(BLOCKS)]
    assert sum(said in ("slower", "faster") for said in clean) == 0
    assert sum(said in ("slower", "faster") for said in noisy) <= 0.05 * BLOCKS
    shifted = [_decided(0.02, 0.005, rule, seed) for seed in range(BLOCKS)]
    assert sum(said == "slower" for said in shifted) >= 0.9 * BLOCKS


def test_looking_again_does_not_raise_the_rate_of_false_alarms() -> None:
    rule = Rule(looks=3)
    alarms = 0
    for seed in range(BLOCKS):
        random = np.random.default_rng(seed)
        ratios = random.normal(0, 0.03, (3, 60))
        for blocks in (20, 40, 60):
            rows = [("call", q, ratios[at, :blocks]) for at, q in enumerate((0.5, 0.9, 0.99))]
            said = gate.verdict(gate.judged(rows, rule))
            if said in ("slower", "faster"):
                alarms += 1
            if said != "cannot tell":
                break
    assert alarms <= 0.05 * BLOCKS


def test_the_tail_is_gated_only_where_each_block_carries_it() -> None:
    random = np.random.default_rng(3)

    def side(calls: int) -> dict[str, Sample]:
        values = random.integers(1_000, 2_000, calls * 8)
        return {"call": Sample(values, np.repeat(np.arange(8), calls))}

    few, many = (gate.decide(side(n), side(n), Rule()) for n in (50, 400))
    assert [metric.quantile for metric in few] == ["p50", "p90"]
    assert [metric.quantile for metric in many] == ["p50", "p90", "p99"]


def test_a_certificate_tells_a_quiet_machine_from_a_noisy_one() -> None:
    random = np.random.default_rng(4)
    rule = Rule()

    def certified(noise: float) -> dict[str, Any]:
        ratios = [random.normal(0, noise, 40) for _ in range(2)]
        rows = [("call", q, each) for q, each in zip((0.5, 0.9), ratios, strict=True)]
        return certificate.certify(gate.judged(rows, rule), ratios, rule, each=20)

    quiet, noisy = certified(0.004), certified(0.05)
    assert quiet["suite_percent"] == 0
    assert quiet["metrics"][0]["detectable_percent"] < 2
    assert noisy["metrics"][0]["detectable_percent"] > 4
    assert noisy["suite_low_percent"] <= noisy["suite_percent"] <= noisy["suite_high_percent"]

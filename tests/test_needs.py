"""Environments of recipes: found, built once, and told apart by their lock files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import build, needs
from bench.errors import BenchError
from bench.model import Needs

ABSENT = "no-such-package-anywhere>=1"
PIP, NPM = Needs(pip=(ABSENT,)), Needs(npm=("x@1",))
EMPTY_NPM_LOCK = {
    "name": "x",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {"": {"name": "x"}},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    monkeypatch.setenv("MCP_LATENCY_HOME", str(place))
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recipe's folder with lock files that name no package, so that a build asks no registry."""
    place = tmp_path / "servers" / "idle"
    place.mkdir(parents=True)
    (place / "requirements.txt").write_text("# nothing\n")
    (place.parent / "package.json").write_text(json.dumps({"name": "x", "private": True}))
    (place.parent / "package-lock.json").write_text(json.dumps(EMPTY_NPM_LOCK))
    return place


def test_home_is_the_named_folder_else_the_users_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert needs.home() == home
    monkeypatch.delenv("MCP_LATENCY_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert needs.home() == tmp_path / "mcp-latency"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert needs.home() == Path("/home/ada/.cache/mcp-latency")


@pytest.mark.parametrize(
    ("pip", "here"),
    [
        ([], True),
        (["packaging"], True),
        (["packaging>=20", "pytest"], True),
        (["packaging>=9999"], False),
        (["packaging", ABSENT], False),
        (["no-such-package-anywhere; python_version < '3'"], True),
        (["pytest[no-such-extra]"], False),
    ],
)
def test_an_interpreter_satisfies_exactly_what_it_has(pip: list[str], here: bool) -> None:
    assert needs.satisfied(pip) is here


def test_a_recipe_whose_needs_are_here_runs_on_this_interpreter(home: Path) -> None:
    assert needs.substitutions("x", None, Needs(pip=("packaging",)))["python"] == sys.executable
    assert needs.missing("x", None, Needs(pip=("packaging",))) is None
    needs.install("x", None, Needs(pip=("packaging",)))
    assert not home.exists()


@pytest.mark.usefixtures("home")
def test_what_is_missing_is_one_sentence_that_ends_with_the_command(folder: Path) -> None:
    text = needs.missing("idle", folder, PIP)
    assert text is not None
    assert text.startswith('server "idle" needs no-such-package-anywhere>=1 from PyPI')
    assert text.endswith("try: make servers")
    assert "python" not in needs.substitutions("idle", folder, PIP)
    npm = needs.missing("idle", folder, NPM)
    assert npm is not None
    assert npm.endswith("try: make servers")


@pytest.mark.usefixtures("home")
def test_a_recipe_without_a_lock_file_names_the_command_for_this_interpreter(
    tmp_path: Path,
) -> None:
    text = needs.missing("x", tmp_path, PIP)
    assert text is not None
    assert text.endswith("-m pip install 'no-such-package-anywhere>=1'")
    with pytest.raises(BenchError, match=r'server "x" .* no requirements.txt .* make lock'):
        needs.install("x", tmp_path, PIP)
    with pytest.raises(BenchError, match=r"no package-lock\.json of its recipe"):
        needs.install("x", None, NPM)


def test_an_own_interpreter_is_built_once_and_counts_only_when_ready(
    home: Path, folder: Path
) -> None:
    needs.install("idle", folder, PIP)
    (place,) = home.iterdir()
    python = needs.substitutions("idle", folder, PIP)["python"]
    assert Path(python).is_relative_to(place)
    prefix = subprocess.run(
        [python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, timeout=60
    )
    assert prefix.stdout.strip() == str(place)

    (place / "kept").touch()
    needs.install("idle", folder, PIP)
    assert (place / "kept").exists()

    (place / build.READY).unlink()
    assert "python" not in needs.substitutions("idle", folder, PIP)
    needs.install("idle", folder, PIP)
    assert not (place / "kept").exists()
    assert (place / build.READY).exists()


@pytest.mark.usefixtures("home")
def test_another_lock_file_means_another_place(folder: Path) -> None:
    needs.install("idle", folder, NPM)
    before = needs.substitutions("idle", folder, NPM)["npm"]
    (folder.parent / "package-lock.json").write_text(json.dumps(EMPTY_NPM_LOCK, indent=1))
    assert "npm" not in needs.substitutions("idle", folder, NPM)
    needs.install("idle", folder, NPM)
    assert needs.substitutions("idle", folder, NPM)["npm"] != before


def test_node_modules_appear_whole_and_nothing_is_left_beside_them(
    home: Path, folder: Path
) -> None:
    needs.install("idle", folder, NPM)
    modules = Path(needs.substitutions("idle", folder, NPM)["npm"])
    assert modules.is_dir()
    assert list(home.iterdir()) == [modules.parent]


def test_a_failed_install_tells_npms_last_words_and_leaves_nothing(
    home: Path, folder: Path
) -> None:
    (folder.parent / "package-lock.json").write_text("{")
    with pytest.raises(BenchError, match=r"(?s)ci --ignore-scripts.* left with status 1; last wo"):
        needs.install("idle", folder, NPM)
    assert list(home.iterdir()) == []
    assert "npm" not in needs.substitutions("idle", folder, NPM)


@pytest.mark.usefixtures("home")
def test_a_failed_install_tells_pips_last_words_and_does_not_count(folder: Path) -> None:
    (folder / "requirements.txt").write_text("./no-such-file.whl --hash=sha256:00\n")
    with pytest.raises(BenchError, match=r"(?s)pip install .*last words:.*no-such-file"):
        needs.install("idle", folder, PIP)
    assert "python" not in needs.substitutions("idle", folder, PIP)


@pytest.mark.usefixtures("home")
def test_what_runs_elsewhere_only_is_told_and_not_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need = Needs(pip=(ABSENT,), platform="plan9-mips")
    words = f'server "idle" runs on plan9-mips only, and this machine is {needs.machine()}'
    assert needs.missing("idle", folder, need) == words
    assert needs.runs_here(Needs(platform=needs.machine()))
    (folder / "recipe.toml").write_text('[needs]\npip = ["x"]\nplatform = "plan9-mips"\n')
    monkeypatch.setattr(needs, "recipes", lambda: folder.parent)
    assert needs.main([]) == 0
    assert capsys.readouterr().err == f"idle: {words}\n"


def test_working_files_are_made_once_and_anew_for_another_command_or_file(
    home: Path, folder: Path
) -> None:
    make = "import sys, pathlib; pathlib.Path(sys.argv[1], 'made').touch()"
    (folder / "make.py").write_text(make)
    need = Needs(prepare=("{python}", "make.py", "{work}"))
    assert "work" not in needs.substitutions("idle", folder, need)
    needs.prepare("idle", folder, need)
    work = Path(needs.substitutions("idle", folder, need)["work"])
    assert [file.name for file in work.iterdir()] == ["made"]
    assert work.is_relative_to(home)

    (work / "made").unlink()
    needs.prepare("idle", folder, need)
    assert list(work.iterdir()) == []
    (folder / "make.py").write_text(f"{make}  # otherwise")
    assert "work" not in needs.substitutions("idle", folder, need)


def test_a_failed_preparation_tells_its_last_words_and_leaves_nothing(
    home: Path, folder: Path
) -> None:
    need = Needs(prepare=("{python}", "-c", "import os; os.mkdir('{work}/x'); exit('no luck')"))
    with pytest.raises(BenchError, match=r"(?s)left with status 1; last words:\nno luck"):
        needs.prepare("idle", folder, need)
    assert "work" not in needs.substitutions("idle", folder, need)
    assert [*(home / "work").iterdir()] == []


def test_node_is_a_program_that_runs() -> None:
    node = needs.node()
    assert node is not None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"v\d+\.\d+\.\d+\n", version.stdout)
    npm = subprocess.run(
        [*needs.npm_command(), "--version"], capture_output=True, text=True, timeout=60
    )
    assert npm.returncode == 0


def test_every_recipe_we_ship_has_its_needs_in_a_lock_file() -> None:
    top = json.loads((needs.recipes() / "package.json").read_text())
    for name, folder, need in needs.read_recipes():
        locked = (folder / "requirements.txt").read_text() if need.pip else ""
        for line in need.pip:
            package = re.split(r"[\[<>=!~; ]", line)[0]
            assert re.search(rf"^{re.escape(package)}==", locked, re.M), (name, line)
        modules = top["optionalDependencies" if need.platform else "dependencies"]
        for spec in need.npm:
            module, _, version = spec.rpartition("@")
            assert modules.get(module) == version, (name, spec)


def test_no_lock_file_names_a_registry_or_a_path_of_the_machine_it_was_made_on() -> None:
    top = needs.recipes().parent.parent
    texts = [*top.glob("requirements*.txt"), *needs.recipes().glob("*/requirements.txt")]
    assert len(texts) >= 3
    for path in texts:
        assert not re.search(r"://|^\s*--(?!hash)|^\s*[./]| @ ", path.read_text(), re.M), path
    packages = json.loads((needs.recipes() / "package-lock.json").read_text())["packages"]
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert all("integrity" in entry for name, entry in packages.items() if name)


def test_make_servers_left_nothing_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    for name, folder, need in needs.read_recipes():
        if needs.runs_here(need):
            assert needs.missing(name, folder, need) is None
            assert ("work" in needs.substitutions(name, folder, need)) == bool(need.prepare)
    assert needs.main(["tickets-python", "time"]) == 0
    assert capsys.readouterr().err == "tickets-python: ready\ntime: ready\n"


def test_an_unknown_recipe_is_wrong_usage_and_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert needs.main(["tickets-pyton"]) == 64
    assert 'did you mean "tickets-python"?' in capsys.readouterr().err


def test_the_module_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.needs", "tickets-python"],
        cwd=needs.recipes().parent.parent,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "tickets-python: ready\n")

"""The HTML page in a browser: it fetches nothing, obeys nobody, fits a phone, and can be used."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import sessions, store, summary
from bench.errors import COULD_NOT
from bench.report import html
from bench.units import milliseconds
from tests.browser import DESK, PHONE, looking
from tests.outside import Program, module
from tests.perf import million
from tests.story import CountingClock, Responder, run_in_memory
from tests.test_narrow import DOCUMENT, REFERENCE, TOP, figures_of

COSTS_NS = {"initialize": 3_000_000, "tools/call": 250_000, "ping": 1_000}
HOSTILE = (
    "</script></pre></title><script>window.obeyed = 1</script>"
    "<img src=x onerror='window.obeyed = 2'>&lt;b&gt;\"' onload='window.obeyed = 3'"
    "{{ 7 * 7 }}\u202e"
)
MESSAGE = "[...document.querySelectorAll('.message')]"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the reference run, as the program writes it."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    _report(REFERENCE, path)
    return path


def _report(run: Path, out: Path) -> None:
    words = ["report", str(run), "--format", "html", "-o", str(out)]
    subprocess.run([sys.executable, "-m", "bench", *words], check=True, cwd=TOP)


def _page(folder: Path, **answers: object) -> Path:
    """The page of a run in memory, whose server gives these answers."""
    clock = CountingClock()
    respond = Responder(clock, COSTS_NS)
    respond.answers.update(answers)
    _, run = run_in_memory(folder, respond, clock)
    told = html.Told(summary.document(run), run.meta, sessions.of(run))
    path = folder / "page.html"
    path.write_text(html.render(told), "utf-8")
    return path


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fetches_nothing_has_no_error_and_does_not_scroll_sideways(
    reference: Path, width: int, scheme: Any
) -> None:
    with looking(reference, width=width, scheme=scheme) as seen:
        seen.page.wait_for_selector(".stage svg")
        assert seen.ask("document.documentElement.scrollWidth") <= width
        assert seen.ask("performance.getEntriesByType('resource').length") == 0
        assert seen.fetched == []
        assert seen.told == []


def test_dark_is_dark_and_light_is_light(reference: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        with looking(reference, scheme=scheme) as seen:
            colour = seen.ask("getComputedStyle(document.body).backgroundColor")
            grounds.append(sum(map(int, re.findall(r"\d+", colour))))
    assert grounds[0] > 600
    assert grounds[1] < 150


def test_it_shows_every_cell_with_its_figures_and_how_to_measure_it_again(reference: Path) -> None:
    with looking(reference) as seen:
        text = seen.page.inner_text("main")
        bars = seen.ask("[...document.querySelectorAll('.bar')].map(each => each.ariaLabel)")
    paid = {each["break_even_calls"] for each in DOCUMENT["comparisons"]} - {None}
    after = [f"paid for after {calls:,.0f} calls" for calls in paid]
    for words in (*figures_of(DOCUMENT)[:2], *after):
        assert words in text
    assert "differs too: response" in text
    assert "mcp-latency run tickets --launches 20" in text
    assert "AMD EPYC" in text
    deliver_ns = DOCUMENT["cells"][2]["ledger"]["call"]["deliver"]
    assert any(f"http/stateful: deliver {milliseconds(deliver_ns)}" in bar for bar in bars)


def test_what_a_server_says_stays_text(tmp_path: Path) -> None:
    answer = {"result": {"content": [{"type": "text", "text": HOSTILE}], "isError": False}}
    path = _page(tmp_path, **{"tools/call": answer})
    with looking(path) as seen:
        said = _visit_every_message(seen)
        assert _is_whole(seen)
    assert "<img src=x onerror='window.obeyed = 2'>" in said
    assert "\u202e" not in said


def test_whatever_a_run_names_stays_text(tmp_path: Path) -> None:
    run = store.read(REFERENCE)
    told = html.Told(summary.document(run), run.meta, sessions.of(run))
    path = tmp_path / "page.html"
    path.write_text(html.render(_poisoned(told)), "utf-8")
    assert path.read_text("utf-8").count("window.obeyed") > 100
    with looking(path, width=PHONE) as seen:
        _visit_every_message(seen)
        assert _is_whole(seen)
        assert "{{ 7 * 7 }}" in seen.page.inner_text("main")
        assert seen.ask("document.documentElement.scrollWidth") <= PHONE


def _poisoned(told: html.Told) -> html.Told:
    """Every text that is not one of our own words gets hostile ones behind it."""
    meta = _put_behind(told.meta, {"name", "about", "tool", "stdio", "query", "cell"})
    document = _put_behind(
        told.document, {"run", "scenario", "cpu", "protocol_version", "findings", "where", "values"}
    )
    document["warnings"] = [HOSTILE]
    poisoned = [
        each._replace(
            messages=[
                type(message)(
                    at_ns=message.at_ns,
                    direction=message.direction,
                    kind=message.kind,
                    bytes=message.bytes,
                    method=HOSTILE,
                    id=HOSTILE,
                    body=HOSTILE,
                )
                for message in each.messages
            ]
        )
        for each in told.sessions
    ]
    return html.Told(document, meta, poisoned)


def _put_behind(value: Any, keys: set[str], *, here: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _put_behind(each, keys, here=key in keys) for key, each in value.items()}
    if isinstance(value, list):
        return [_put_behind(each, keys, here=here) for each in value]
    return f"{value}{HOSTILE}" if here and isinstance(value, str) else value


def _visit_every_message(seen: Any) -> str:
    """All that the messages say, one after the other."""
    stage = seen.page.locator(".stage")
    stage.focus()
    said = []
    for _ in range(_drawn(seen)):
        stage.press("ArrowRight")
        said.append(seen.page.inner_text(".told"))
    return "\n".join(said)


def _is_whole(seen: Any) -> bool:
    """No script ran, no element came in, nothing was fetched and nothing complained."""
    return bool(
        seen.ask("window.obeyed === undefined")
        and seen.ask("document.scripts.length === 2")
        and seen.ask("document.querySelectorAll('img, iframe, object, b[onload]').length === 0")
        and seen.fetched == []
        and seen.told == []
    )


def test_a_script_that_came_in_all_the_same_would_not_run(reference: Path, tmp_path: Path) -> None:
    text = reference.read_text("utf-8")
    path = tmp_path / "page.html"
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.setblocking(False)
        address = f"http://127.0.0.1:{outside.getsockname()[1]}/x.png"
        inserted = f"<script>window.obeyed = 1</script><img src='{address}'></main>"
        path.write_text(text.replace("</main>", inserted), "utf-8")
        with looking(path) as seen:
            assert seen.ask("window.obeyed === undefined")
            refused = [line for line in seen.told if "Content Security Policy" in line]
        assert len(refused) == 2
        with pytest.raises(BlockingIOError):
            outside.accept()


def test_a_message_that_is_pointed_at_is_told(reference: Path) -> None:
    with looking(reference) as seen:
        stage = seen.page.locator(".stage")
        stage.scroll_into_view_if_needed()
        assert "40 messages of launch" in seen.page.inner_text(".told")
        box = seen.page.locator(".message line").nth(3).bounding_box()
        assert box is not None
        seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
        assert seen.page.inner_text(".told b").startswith(("→", "←"))
        assert '"jsonrpc"' in seen.page.inner_text(".told pre")


def test_keys_go_from_message_to_message_and_zoom(reference: Path) -> None:
    with looking(reference) as seen:
        stage = seen.page.locator(".stage")
        stage.focus()
        stage.press("0")
        stage.press("ArrowRight")
        assert seen.page.inner_text(".told b") == "→ initialize"
        stage.press("ArrowRight")
        assert seen.page.inner_text(".told b") == "← response to initialize"
        all_of_them, apart = _drawn(seen), _apart(seen)
        assert all_of_them == sessions.SHOWN_MESSAGES
        stage.press("+")
        assert _apart(seen) == pytest.approx(2 * apart, rel=0.01)
        assert _drawn(seen) < all_of_them
        stage.press("End")
        assert seen.page.locator(".chosen").count() == 1
        stage.press("0")
        assert _drawn(seen) == all_of_them
        assert _apart(seen) == pytest.approx(apart, rel=0.01)


def test_buttons_zoom_and_a_drag_moves(reference: Path) -> None:
    with looking(reference, width=PHONE) as seen:
        seen.page.get_by_role("button", name="all").click()
        whole = _drawn(seen)
        for _ in range(3):
            seen.page.get_by_role("button", name="larger").click()
        assert _drawn(seen) < whole
        before = seen.ask(f"{MESSAGE}[0].dataset.number")
        box = seen.page.locator(".stage").bounding_box()
        assert box is not None
        seen.page.mouse.move(box["x"] + 40, box["y"] + 60)
        seen.page.mouse.down()
        seen.page.mouse.move(box["x"] + 340, box["y"] + 60, steps=5)
        seen.page.mouse.up()
        assert int(seen.ask(f"{MESSAGE}[0].dataset.number")) < int(before)


def _drawn(seen: Any) -> int:
    return int(seen.ask(f"{MESSAGE}.length"))


def _apart(seen: Any) -> float:
    """How far the second and the third message are from each other, px."""
    first, second = (
        float(
            seen.ask(f"document.querySelector('[data-number=\"{n}\"] line').getAttribute('{end}')")
        )
        for n, end in ((1, "x2"), (2, "x1"))
    )
    return second - first


def test_another_cell_is_another_diagram(reference: Path) -> None:
    with looking(reference) as seen:
        seen.page.select_option("select", label="http/stateless")
        stage = seen.page.locator(".stage")
        stage.focus()
        stage.press("ArrowRight")
        assert seen.page.inner_text(".told b") == "→ server/discover"


def test_without_scripts_everything_is_there_but_the_diagram(reference: Path) -> None:
    with looking(reference, scripts=False) as seen:
        assert not seen.page.locator("#sequence").is_visible()
        assert seen.page.locator("table.messages").count() == 4
        assert seen.page.locator(".bar").count() == 8


def test_it_prints_on_pages_in_ink_on_white(reference: Path) -> None:
    with looking(reference, scheme="dark") as seen:
        paper = seen.page.pdf(format="A4", print_background=True)
        seen.page.emulate_media(media="print")
        ground = seen.ask("getComputedStyle(document.body).backgroundColor")
        assert not seen.page.locator("nav").is_visible()
    assert ground == "rgb(255, 255, 255)"
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2


def test_a_hundred_thousand_calls_are_a_small_page(tmp_path: Path) -> None:
    million.write(tmp_path, 100_000)
    path = tmp_path / "page.html"
    _report(tmp_path, path)
    assert path.stat().st_size < 5_000_000
    with looking(path) as seen:
        assert "25,000" in seen.page.inner_text("#figures") or "24,9" in seen.page.inner_text(
            "#figures"
        )
        assert seen.ask("document.querySelectorAll('*').length") < 20_000
        assert seen.told == []


def test_a_verdict_comes_first_and_stands_where_it_was_compared(tmp_path: Path) -> None:
    server = " ".join(module("trivial"))
    pair = ("--base", server, "--head", server, "--quick", "--pin", "none", "--seed", "1")
    said = Program(tmp_path)("ab", *pair, "--json")
    path = tmp_path / "page.html"
    _report(tmp_path / said.document["path"], path)
    verdict = f"against {server}: {said.document['verdict']}"
    with looking(path) as seen:
        assert verdict in seen.page.inner_text("#short")
        assert verdict in seen.page.inner_text("#compared")
        assert "would have seen" in seen.page.inner_text("#compared table")
        assert seen.told == []


def test_it_goes_to_stdout_as_it_goes_to_a_file(reference: Path) -> None:
    words = ["report", str(REFERENCE), "--format", "html"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "bench", *words],
        capture_output=True,
        check=True,
        cwd=TOP,
        env=environment,
    )
    assert done.stdout == reference.read_bytes()


def test_a_file_that_cannot_be_written_is_said_in_words(program: Program) -> None:
    said = program("report", str(REFERENCE), "--format", "html", "-o", "nowhere/page.html")
    assert said.code == COULD_NOT
    assert "nowhere/page.html cannot be written: No such file or directory" in said.err
    assert "Traceback" not in said.err


def test_a_run_without_figures_says_so(tmp_path: Path) -> None:
    error = {"error": {"code": -32603, "message": "no"}}
    path = _page(tmp_path, **{"initialize": error, "server/discover": error})
    with looking(path) as seen:
        assert seen.page.inner_text("#goes .none") == "no data"
        assert seen.page.inner_text("#spread .none") == "no data"
        assert seen.told == []


def test_a_quarter_of_a_millisecond_is_that_in_every_picture(tmp_path: Path) -> None:
    path = _page(tmp_path)
    with looking(path) as seen:
        label = seen.page.locator("#goes .label b").first.inner_text()
        ticks = seen.page.locator(".axis text").all_text_contents()
    assert label == "0.25 ms"
    assert ticks
    assert all(re.fullmatch(r"[\d.]+ (ns|µs|ms|s)", tick) for tick in ticks)

"""A page as a browser shows it: Chromium without a window, and what it fetched and was told."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Tests run as root in containers, and a browser of its own accord calls home.
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, DESK = 375, 1200


class Seen(NamedTuple):
    """An open page, what it asked for beside itself, and what its console was told."""

    page: Page
    fetched: list[str]
    told: list[str]

    def ask(self, script: str) -> Any:
        """What an expression is in the page."""
        return self.page.evaluate(script)


@contextlib.contextmanager
def looking(
    path: Path,
    *,
    width: int = DESK,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
) -> Iterator[Seen]:
    """The file, opened in a fresh browser with a fresh profile."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_program(), args=list(QUIET))
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        seen = Seen(context.new_page(), [], [])
        seen.page.on("request", lambda request: seen.fetched.append(request.url))
        seen.page.on("console", lambda message: seen.told.append(message.text))
        seen.page.on("pageerror", lambda error: seen.told.append(str(error)))
        seen.page.goto(path.as_uri())
        seen.fetched.remove(path.as_uri())
        yield seen
        browser.close()


def _program() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, "no Chromium; make browser"
    return found

"""A browser for the tests of the report: Debian's Chromium or another, driven by playwright, and axe-core beside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.shadow import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(os.environ.get("PERFMODEL_AXE", ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"))
HEIGHT = 900


def chromium() -> str:
    """The program; one that PERFMODEL_CHROMIUM names, or the first that is installed."""
    found = os.environ.get("PERFMODEL_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
    assert found, f"no browser: install one of {', '.join(NAMES)}, or let PERFMODEL_CHROMIUM name it (scripts/nightly)"
    return found


@dataclass
class Opened:
    """An opened page, and what it complained of or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def tabs(self) -> list[Any]:
        return self.page.query_selector_all("[role=tab]")

    def settle(self) -> None:
        """Wait until what a click began is drawn."""
        self.until("document.querySelectorAll('.panel:not([hidden]) .plot:empty').length === 0")
        self.page.wait_for_timeout(100)

    def until(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds; the page's policy forbids playwright to wait for it there."""
        for _ in range(100):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"never true: {condition}")

    def overflow(self) -> list[str]:
        """What is wider than the window."""
        return self.page.evaluate("""() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width) return [];
            const wide = (one) => one.offsetParent && one.getBoundingClientRect().right > width + 1;
            const every = Array.from(document.querySelectorAll("body *"));
            return every.filter(wide).map((one) => one.outerHTML.slice(0, 150));
        }""")

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the page as it is shown."""
        assert AXE.is_file(), f"no axe-core at {AXE}: npm install --prefix .venv/axe axe-core (scripts/nightly)"
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document)")
        assert len(found["passes"]) > 20  # it did look
        return [f"{one['id']}: {node['html'][:150]}" for one in found["violations"] for node in one["nodes"]]


@contextmanager
def opened(path: Path, width: int, scheme: str) -> Iterator[Opened]:
    """Open a file in a window of a width [pixel], with a colour scheme: light or dark."""
    from playwright.sync_api import sync_playwright

    program = chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme).new_page()
        found = Opened(page)
        known = found.complaints.append
        page.on("console", lambda message: known(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: known(str(error)))
        page.on("dialog", lambda dialog: (known(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: found.requests.append(request.url))
        try:
            page.goto(path.as_uri())
            found.settle()
            yield found
        finally:
            browser.close()

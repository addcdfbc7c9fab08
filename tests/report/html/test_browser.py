"""The report in a browser: at the width of a phone and of a desk, light and dark, by pointer and by keyboard."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from perfmodel.analyses.report_data import report_data
from perfmodel.predicting.model import load
from perfmodel.report.html.page import report_page
from tests.recorded import POCL
from tests.report.html.reported import MADE, page
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


pytestmark = pytest.mark.nightly
WIDTHS, SCHEMES = (400, 1400), ("light", "dark")
CASES = [*product(("own", "cpu"), WIDTHS, SCHEMES), ("bare", 400, "dark")]
OPEN = "document.querySelectorAll('.panel:not([hidden]) details').forEach((one) => (one.open = true))"
PANELS = "[...document.querySelectorAll('.panel')].filter((one) => !one.hidden).map((one) => one.id)"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Reports of a simulator with a user's kernels of hostile names, of a CPU, and of a folder without test kernels."""
    folder = tmp_path_factory.mktemp("reports")
    bare = folder / "bare"
    bare.mkdir()
    for name in ("measurements.jsonl", "counts.jsonl.xz"):
        (bare / name).symlink_to(POCL / name)
    pages = {
        "own": page(), "cpu": report_page(report_data(load(POCL / "bottleneck.json"), POCL), MADE),
        "bare": report_page(report_data(load(POCL / "stevens_kloeckner_2016.json"), bare), MADE),
    }  # fmt: skip
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.mark.parametrize(("name", "width", "scheme"), CASES)
def test_every_tab_can_be_read(files, name, width, scheme):
    """With the tables and cards closed, and open."""
    with opened(files[name], width, scheme) as found:
        assert len(found.tabs()) == 7 + (name == "own")
        for tab in found.tabs():
            tab.click()
            found.settle()
            assert [tab.get_attribute("aria-controls")] == found.page.evaluate(PANELS)
            assert "true" == tab.get_attribute("aria-selected")
            assert [] == found.overflow()
            if name != "own":
                assert [] == found.violations()
            found.page.evaluate(OPEN)
            assert [] == found.overflow()
            if name == "own":
                assert [] == found.violations()
        assert [] == found.complaints
        assert [files[name].as_uri()] == [url.partition("#")[0] for url in found.requests]


def test_arrow_keys_move_between_tabs(files):
    with opened(files["own"], 1400, "light") as found:
        names = [tab.get_attribute("aria-controls") for tab in found.tabs()]
        found.page.keyboard.press("Tab")  # the link to the content
        found.page.keyboard.press("Tab")
        for key, place in (("ArrowRight", 1), ("ArrowRight", 2), ("End", -1), ("ArrowRight", 0), ("ArrowLeft", -1),
                           ("Home", 0)):  # fmt: skip
            found.page.keyboard.press(key)
            assert [names[place]] == found.page.evaluate(PANELS)
            assert f"tab-{names[place]}" == found.page.evaluate("document.activeElement.id")
            assert 1 == len(found.page.query_selector_all("[role=tab][tabindex='0']"))
        found.page.keyboard.press("Tab")
        assert names[0] == found.page.evaluate("document.activeElement.id")  # the panel


@pytest.mark.parametrize("width", WIDTHS)
def test_a_point_shows_what_it_is_and_a_kernel_can_be_chosen(files, width):
    with opened(files["own"], width, "light") as found:
        found.page.click("#tab-accuracy")
        found.settle()
        found.page.evaluate("document.querySelector('#plot-accuracy').scrollIntoView()")
        point = found.page.query_selector("#plot-accuracy .scatterlayer .points path").bounding_box()
        found.page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
        found.page.wait_for_selector(".hoverlayer .hovertext")
        text = found.page.text_content(".hoverlayer .hovertext")
        assert re.search(r"measured: [\d.]+ \w+predicted: [\d.]+ \w+error: [\d.]+ %90 % interval: ", text)
        box = found.page.query_selector(".hoverlayer .hovertext").bounding_box()
        assert -1 <= box["x"] <= box["x"] + box["width"] <= width + 1
        paths = "[...document.querySelectorAll('#plot-accuracy .points path')]"
        count = f"{paths}.filter((one) => one.style.opacity < 0.5).length"
        assert 0 == found.page.evaluate(count)
        found.page.select_option("#choose-accuracy", "nbody")
        found.until(f"{count} > 0")


def test_hostile_names_are_shown_and_do_not_run(files):
    with opened(files["own"], 1400, "light") as found:
        assert "<script>alert(1)</script>" in found.page.text_content("#own")
        labels = found.page.evaluate("[...document.querySelectorAll('.ytick')].map((one) => one.textContent).join('')")
        assert "<script>alert(1" in labels
        assert [] == found.complaints

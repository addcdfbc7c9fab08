"""Pages of the documentation, drawn again from committed data."""

from __future__ import annotations

from pathlib import Path

from perfmodel.calibration.pages import draw_isolation
from perfmodel.report.isolation import BEGIN
from tests.store.test_isolation import isolation, keep

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "isolation.md"


def test_the_committed_page_is_what_the_committed_proofs_give(tmp_path):
    again = tmp_path / "isolation.md"
    again.write_text(PAGE.read_text())
    draw_isolation(ROOT / "fitted_weights", again)
    assert PAGE.read_text() == again.read_text()


def test_all_devices_of_a_folder_are_drawn(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(BEGIN)
    for name in ("one", "two"):
        keep(tmp_path / name, isolation(device=name))
    draw_isolation(tmp_path, page)
    assert ["## one", "## two"] == [line for line in page.read_text().splitlines() if line.startswith("##")]

"""Pages of the documentation, drawn again from committed data."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfmodel.store import read
from perfmodel.store.files import ISOLATION_FILE as FILE
from scripts.lab.isolation_page import draw_isolation
from scripts.lab.pages import trial_seconds
from tests.recorded import DEVICES, POCL

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_the_committed_page_and_table_are_what_the_committed_proofs_give(tmp_path):
    for device in DEVICES:
        (tmp_path / device.name).mkdir()
        shutil.copy(device / FILE, tmp_path / device.name)
    page, table = tmp_path / "isolation.md", tmp_path / "isolation.csv"
    page.write_text((DOCS / "lab" / "isolation.md").read_text())
    draw_isolation(tmp_path, page, table, tmp_path / "isolation.png")
    assert (DOCS / "lab" / "isolation.md").read_text() == page.read_text()
    assert (DOCS / "data" / "isolation.csv").read_bytes() == table.read_bytes()
    assert (tmp_path / "isolation.png").read_bytes().startswith(b"\x89PNG")


def test_committed_plans_belong_to_committed_records():
    keys = {row.key for row in read(POCL).rows}
    assert keys
    assert keys <= trial_seconds(POCL).keys()

"""The picture of the packages, drawn from their imports."""

from __future__ import annotations

from pathlib import Path

from scripts import redraw
from scripts.lab.packages import floors, package_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "perfmodel"


def test_the_committed_picture_shows_the_imports_of_today(tmp_path):
    assert 0 == redraw.main(["packages", "--out", str(tmp_path)])
    old = (ROOT / "docs" / "packages.svg").read_bytes()
    assert old == (tmp_path / "packages.svg").read_bytes(), "imports have changed: run scripts/redraw packages"


def test_packages_stand_on_few_floors():
    assert 15 >= max(floors(package_imports(PACKAGE)).values())

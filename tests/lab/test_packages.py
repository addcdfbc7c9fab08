"""The picture of the packages: floors, arrows, and the committed one."""

from __future__ import annotations

from pathlib import Path

from scripts.lab.packages import draw_packages, floors, places, used_packages, without_shortcuts

ROOT = Path(__file__).resolve().parents[2]
SQUARE = {"base": set(), "left": {"base"}, "right": {"base"}, "top": {"left", "right", "base"}}


def test_the_committed_picture_is_what_the_imports_give(tmp_path):
    """If not, scripts/redraw packages draws it again."""
    draw_packages(ROOT / "perfmodel", tmp_path / "packages.svg")
    assert (tmp_path / "packages.svg").read_text() == (ROOT / "docs" / "packages.svg").read_text()


def test_a_package_stands_above_those_that_it_uses():
    used = used_packages(ROOT / "perfmodel")
    floor = floors(used)
    assert {"counts", "models", "cli"} <= {*used}
    assert all(floor[other] < floor[name] for name, others in used.items() for other in others)
    assert "errors" in used["counts"]


def test_arrows_beside_a_longer_way_are_left_out():
    assert {"base": set(), "left": {"base"}, "right": {"base"}, "top": {"left", "right"}} == without_shortcuts(SQUARE)


def test_an_arrow_passes_a_floor_beside_its_packages():
    x = places({"base": set(), "middle": {"base"}, "top": {"middle", "base"}})
    assert {("base",), ("middle",), ("top",), ("base", "top", "1")} == {*x}
    assert abs(x["middle",] - x["base", "top", "1"]) > 60

"""The picture of the packages, drawn from their imports."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from scripts import redraw
from scripts.lab.packages import floors, package_imports, picture

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "perfmodel"
SMALL = {name: frozenset(needs) for name, needs in {"a": "bcd", "b": "d", "c": "d", "d": ""}.items()}


def test_the_committed_picture_shows_the_imports_of_today(tmp_path):
    assert 0 == redraw.main(["packages", "--out", str(tmp_path)])
    old = (ROOT / "docs" / "packages.svg").read_bytes()
    assert old == (tmp_path / "packages.svg").read_bytes(), "imports have changed: run scripts/redraw packages"


def test_packages_stand_on_few_floors():
    assert 15 >= max(floors(package_imports(PACKAGE)).values())


def test_a_package_stands_above_what_it_imports():
    assert {"d": 1, "b": 2, "c": 2, "a": 3} == floors(SMALL)


def test_each_package_is_a_box_and_each_import_an_arrow():
    text = picture(SMALL)
    assert text == picture(dict(reversed(SMALL.items())))
    svg = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert {*"abcd"} == {box.findtext(f"{space}text") for box in svg.iter(f"{space}g")}
    assert 4 == sum("marker-end" in path.attrib for path in svg.iter(f"{space}path"))

"""The picture of the packages, drawn from their imports."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts import redraw
from scripts.lab.packages import DEVICE, WHAT, floors, imported, package_imports, picture, without_implied

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "perfmodel"
SMALL = {name: frozenset(needs) for name, needs in {"a": "bcd", "b": "d", "c": "d", "d": ""}.items()}


def test_the_committed_picture_shows_the_imports_of_today(tmp_path):
    assert 0 == redraw.main(["packages", "--out", str(tmp_path)])
    old = (ROOT / "docs" / "packages.svg").read_bytes()
    assert old == (tmp_path / "packages.svg").read_bytes(), "imports have changed: run scripts/redraw packages"


def test_packages_stand_on_few_floors():
    assert 15 >= max(floors(package_imports(PACKAGE)).values())


def test_words_and_colours_are_of_packages():
    packages = package_imports(PACKAGE).keys()
    assert packages >= WHAT.keys()
    assert packages > DEVICE


def test_a_package_stands_above_what_it_imports():
    assert {"d": 1, "b": 2, "c": 2, "a": 3} == floors(SMALL)


def test_implied_imports_have_no_arrow():
    assert {"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()} == without_implied(SMALL)


def test_each_package_is_a_box_and_each_import_an_arrow():
    text = picture(SMALL)
    assert text == picture(dict(reversed(SMALL.items())))
    svg = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert {*"abcd"} == {box.findtext(f"{space}text") for box in svg.iter(f"{space}g")}
    assert 4 == sum("marker-end" in path.attrib for path in svg.iter(f"{space}path"))


def test_boxes_of_a_floor_do_not_touch():
    svg = ET.fromstring(picture(package_imports(PACKAGE)))
    boxes = [box.find("{http://www.w3.org/2000/svg}rect").attrib for box in svg.iter("{http://www.w3.org/2000/svg}g")]
    places = sorted((int(box["y"]), int(box["x"]), int(box["width"])) for box in boxes)
    for (floor, left, width), (other, right, _) in pairwise(places):
        assert floor != other or left + width < right


def test_imports_in_functions_and_for_packages_of_the_top_level(tmp_path):
    package = tmp_path / "home"
    (package / "high").mkdir(parents=True)
    (package / "__init__.py").write_text("import home.high")
    (package / "high" / "deep.py").write_text("def f():\n    from home import low\n    import os.path")
    (package / "low.py").write_text("from home.low import thing")
    assert {"high": {"low"}, "low": set()} == package_imports(package)


def test_a_relative_import_is_refused(tmp_path):
    (tmp_path / "a.py").write_text("from . import b")
    with pytest.raises(ValueError, match="a relative import"):
        imported(tmp_path / "a.py")

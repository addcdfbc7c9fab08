"""Pages of the documentation, drawn again from committed data."""

import csv
import json
import shutil
from dataclasses import replace
from io import StringIO

import pytest

from perfmodel.compare.contenders import Contenders
from perfmodel.display import percent
from perfmodel.fitting.device_folder import measured_folders
from perfmodel.predicting.relatives import RELATIVES_FILE
from perfmodel.store import read
from scripts import redraw
from scripts.lab import pages
from scripts.lab.isolation import ISOLATION_FILE as FILE, draw_isolation
from scripts.lab.packages import floors, package_imports
from scripts.lab.pages import draw_spt, errors_table, families_page, relatives_table, trial_seconds
from tests.compare.test_contenders import contenders
from tests.machine import ROOT
from tests.recorded import DEVICES, POCL

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


def test_the_file_agrees_with_the_folders():
    stored = json.loads(RELATIVES_FILE.read_text())
    assert relatives_table(ROOT / "fitted_weights") == stored, "draw it again: scripts/redraw relatives"


def test_the_committed_picture_shows_the_imports_of_today_in_few_layers(tmp_path):
    assert 0 == redraw.main(["packages", "--out", str(tmp_path)])
    old = (ROOT / "docs" / "packages.svg").read_bytes()
    assert old == (tmp_path / "packages.svg").read_bytes(), "imports have changed: run scripts/redraw packages"
    assert 15 >= max(floors(package_imports(ROOT / "perfmodel")).values())


def test_errors_are_of_protocol_a():
    """Of five cases four are exact, which counts 0.1 %, and one has half of what it was planted as."""
    exact, *_ = contenders()
    judged = Contenders([replace(exact, family=pages.SPT), replace(exact, family=pages.LINEAR)])
    error = percent((1e-3**4 * 0.5) ** 0.2)
    assert f"| gpu | 5 | not fitted | {error} | {error} |" == errors_table([("gpu", judged)]).splitlines()[-1]
    with_facts = Contenders([*judged, replace(exact, family=pages.MEASURED)])
    assert f"| gpu | 5 | {error} | {error} | {error} |" in errors_table([("gpu", with_facts)])


@pytest.mark.nightly
def test_the_committed_page_is_what_the_committed_measurements_give(tmp_path):
    page, again = DOCS / "lab" / "spt.md", tmp_path / "spt.md"
    shutil.copy(page, again)
    draw_spt(measured_folders(ROOT / "fitted_weights"), again)
    assert page.read_text() == again.read_text()


def test_the_best_by_protocol_b_comes_first_and_who_was_not_fitted_is_left_out() -> None:
    own = contenders()
    drawn = families_page("", [own[::-1]])
    lines = [line for line in drawn.splitlines() if line.startswith("|")]
    table = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    header = ["family", "error, A", "error, B", "factor - 1, A", "regret, A", "tau, A", "weights"]
    assert [header, ["---", *["---:"] * 6]] == table[:2]
    exact, blind, _ = own
    assert exact.figures("B").error < blind.figures("B").error
    assert ["stevens_kloeckner_2016", "blind"] == [row[0] for row in table[2:]]
    # of five cases four are exact, at 0.1 %, and the fifth is half of what it was planted as
    assert percent((1e-3**4 * 0.5) ** 0.2) == table[2][1]
    assert [str(one.weights) for one in (exact, blind)] == [row[-1] for row in table[2:]]
    assert "5 cases that every family predicts." in drawn


def test_the_table_has_five_digits_of_each_number() -> None:
    rows = csv.DictReader(StringIO(pages.short_csv(contenders())))
    (found,) = (row for row in rows if (row["family"], row["protocol"], row["kernel"]) == ("blind", "B", "all"))
    error = next(one for one in contenders() if one.family == "blind").figures("B").error
    assert f"{error:.5g}" == found["error"] != str(error)


def test_the_picture_has_a_map_for_each_device() -> None:
    """Each map has two fitted families, and columns for three kernels and over all. Five maps need a second row."""
    names = ["a", "b", "c", "d", "e"]
    devices = [[replace(one, device=name) for one in contenders()] for name in names]
    drawn = [axes for axes in pages.families_figure(devices).axes if axes.get_title()]
    assert names == [axes.get_title() for axes in drawn]
    assert [2 * 4] * 5 == [len(axes.texts) for axes in drawn]

"""``perfmodel compare`` on the committed measurements; no device is needed."""

from __future__ import annotations

import csv
import json
import shutil
from io import StringIO

import pytest

from perfmodel.calibration import recommended
from perfmodel.compare.contenders import contenders
from perfmodel.facts import published
from tests.cli.test_compare_evaluate import DATA, run
from tests.recorded import POCL


def test_families_side_by_side():
    text = run("compare", "--from", str(DATA), "--family", "stevens_kloeckner_2016").stdout
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith("stevens_kloeckner_2016 ")]
    assert [["stevens_kloeckner_2016", "A"], ["stevens_kloeckner_2016", "B"]] == rows
    evaluated = json.loads(run("evaluate", "--from", str(DATA), "--json").stdout)["models"][0]["evaluations"]
    shown = json.loads(run("compare", "--from", str(DATA), "--family", "stevens_kloeckner_2016", "--json").stdout)
    assert "perfmodel.comparison/1" == shown["schema"]
    overall = [row for row in shown["rows"] if row["kernel"] == "all"]
    for row, each in zip(overall, evaluated, strict=False):
        assert each["protocol"] == row["protocol"]
        for name in ("error", "factor", "regret", "tau"):
            assert each["figures"][name] == pytest.approx(row[name])
    written = run("compare", "--from", str(DATA), "--family", "stevens_kloeckner_2016", "--csv").stdout
    assert [row["kernel"] for row in shown["rows"]] == [row["kernel"] for row in csv.DictReader(StringIO(written))]


def test_devices_of_the_current_folder(tmp_path, monkeypatch):
    for name in ("pocl-one", "other-two"):
        shutil.copytree(DATA, tmp_path / "fitted_weights" / name)
    monkeypatch.chdir(tmp_path)
    family = ("--family", "stevens_kloeckner_2016")
    found = run("compare", "--from", "fitted_weights/pocl-one", *family)
    assert (0, 1) == (found.exit_code, found.stdout.count("family  "))
    both = run("compare", *family)
    assert 2 == both.stdout.count("family  ")
    assert both.stderr.startswith("perfmodel: this takes about ")
    assert "" == run("compare", "-q", *family).stderr
    refused = run("compare", "--device", "pocl", *family)
    assert 2 == refused.exit_code
    assert "--device is no option of compare any more; give --from fitted_weights/DEVICE." in refused.stderr


def test_outside_of_a_clone_they_are_those_of_perfmodel_and_ones_own(tmp_path, monkeypatch):
    (tmp_path / "share").mkdir()
    shutil.copytree(DATA, tmp_path / "share" / "mine")
    shutil.copy(POCL / "device.json", tmp_path / "share" / "mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recommended, "places", lambda: (("your own", tmp_path / "share"),))
    found = run("compare", "--family", "roofline", "--csv")
    assert (0, True) == (found.exit_code, found.stdout.startswith("device,family,")), found.stderr
    monkeypatch.setattr(recommended, "places", lambda: (("your own", tmp_path / "nowhere"),))
    assert "no device was measured with test kernels; measure one" in run("compare").stderr


def test_facts_of_the_folder_take_the_place_of_unknown_ones(tmp_path):
    folder = tmp_path / "device"
    shutil.copytree(DATA, folder)
    asked = ("compare", "--from", str(folder), "--family", "roofline")
    assert "needs the fact 'global_transaction_bytes'" in run(*asked).stdout
    written = "facts: {global_transaction_bytes: {value: 32, unit: B, source: a guess}}"
    (folder / "facts.yaml").write_text(written)
    with_facts = run(*asked).stdout
    assert "needs the fact" not in with_facts
    assert "\nroofline " in with_facts
    assert 2 == run(*asked, "--facts", "gtx-480").exit_code


def test_facts_that_are_given_are_those_of_the_fits():
    given = dict(published("gtx-480").facts)
    (found, *_) = contenders(DATA, ("roofline",), given=given)
    assert ("roofline", "") == (found.family, found.problem)

"""``perfmodel outliers`` on the recorded quickstart; no device is needed."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.analyses.outliers import explained_outliers
from perfmodel.calibration import recommended
from perfmodel.calibration.recommended import FoundWeights
from perfmodel.compare import compare
from perfmodel.facts import DeviceFacts
from perfmodel.predicting.model import fit, load
from tests.cli.test_compare_evaluate import DATA

NAME = "stevens_kloeckner_2016"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / f"{NAME}.json"
    fit(store.read(DATA)).save(path)
    return path


@pytest.fixture
def run(perfmodel, model):
    """A runner of commands beside the folder of a device with weights: ``device``."""
    shutil.copytree(DATA, "device")
    shutil.copy(model, "device")
    return perfmodel


def document(found):
    assert 0 == found.exit_code, found.output
    return json.loads(found.stdout)


def refusal(found):
    assert 2 == found.exit_code, found.output
    return found.stderr.splitlines()[-1]


def test_outliers_are_what_is_beyond_the_factor(run):
    found = document(run("outliers", "--from", "device/test.jsonl", "--factor", "1.5", "--json"))
    rows = compare(load(f"device/{NAME}.json"), store.read("device/test.jsonl"))
    factors = {(row.kernel, row.sizes): row.predicted / row.measured for row in rows}
    far = {place: factor for place, factor in factors.items() if abs(math.log(factor)) > math.log(1.5)}
    assert 0 < len(far) < len(rows)
    assert far == pytest.approx({(one["kernel"], one["sizes"]): one["factor"] for one in found["outliers"]})
    errors = [abs(math.log(one["factor"])) for one in found["outliers"]]
    assert sorted(errors, reverse=True) == errors
    assert ("perfmodel.outliers/1", NAME, len(rows), 0) == tuple(
        found[name] for name in ("schema", "family", "cases", "withheld")
    )
    assert [2 / 3, 1.5] == pytest.approx(found["between"])


def test_the_factor_of_a_term_gives_the_measured_time(run):
    """In a sum, the prediction with one term at that cost is the measured time."""
    found = document(run("outliers", "--from", "device/test.jsonl", "--factor", "1.5", "--json"))["outliers"]
    checked = 0
    for one in found:
        assert pytest.approx(one["predicted_s"]) == sum(term["seconds"] for term in one["terms"])
        for term in one["terms"]:
            assert term["disagrees"] == (term["spoiled"] is not None and term["spoiled"] <= 0.5)
            if term["factor"] is not None:
                changed = one["predicted_s"] + (term["factor"] - 1) * term["seconds"]
                assert pytest.approx(one["measured_s"], rel=1e-9) == changed
                checked += 1
    assert checked


def test_text_names_the_outliers_and_their_terms_in_words(run):
    found = run("outliers", "--from", "device/test.jsonl", "--factor", "1.5")
    assert 0 == found.exit_code, found.output
    shown = document(run("outliers", "--from", "device/test.jsonl", "--factor", "1.5", "--json"))["outliers"]
    assert f"{len(shown)} of 16 cases are outliers, predicted below 0.67 or above 1.50 times" in found.stdout
    assert {one["kernel"] for one in shown} == {one for one in (row["kernel"] for row in shown) if one in found.stdout}
    assert "A term disagrees if" in found.stdout
    none = run("outliers", "--from", "device/test.jsonl", "--factor", "1e6")
    assert "0 of 16 cases are outliers" in none.stdout
    assert "disagree" not in none.stdout


def test_the_document_has_each_term_of_each_outlier(run):
    asked = ("outliers", "--from", "device/test.jsonl", "--factor", "1.5")
    found = explained_outliers(load(f"device/{NAME}.json"), store.read("device/test.jsonl"), 1.5)
    shown = document(run(*asked, "--json"))["outliers"]
    expected = [(one.case.kernel, one.case.sizes, term.term) for one in found.found for term in one.terms]
    assert expected == [(one["kernel"], one["sizes"], term["term"]) for one in shown for term in one["terms"]]


def test_a_folder_is_its_measurement_kernels(run):
    found = document(run("outliers", "--from", "device", "--json"))
    assert (len(store.read(DATA)), f"device/{NAME}.json") == (found["cases"], found["weights"])
    inside = [one for one in found["outliers"] if found["between"][0] <= one["factor"] <= found["between"][1]]
    assert [] == inside


def test_weights_are_those_given_those_beside_the_store_or_those_of_the_device(run, monkeypatch):
    given = ("--from", "device/test.jsonl", "--json")
    shutil.copy(f"device/{NAME}.json", "mine.json")
    assert "mine.json" == document(run("outliers", *given, "-w", "mine.json"))["weights"]
    own = FoundWeights(Path(f"device/{NAME}.json"), DeviceFacts("D", "P", "1", ()), "your own")
    asked = []
    monkeypatch.setattr(recommended, "find_weights", lambda *device: asked.append(device) or own)
    assert document(run("outliers", *given)) == document(run("outliers", "--json"))
    assert [(None, None)] == asked
    elsewhere = Path("elsewhere")
    elsewhere.mkdir()
    for name in ("test.jsonl", "counts.jsonl"):
        shutil.copy(f"device/{name}", elsewhere)
    assert f"device/{NAME}.json" == document(run("outliers", "--from", "elsewhere/test.jsonl", "--json"))["weights"]
    assert 2 == len(asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--factor", "1"), "--factor is 1; give a number above 1, as in --factor 2"),
        (("--factor", "nan"), "--factor is nan; give a number above 1"),
        (("--factor", "inf"), "--factor is inf; give a number above 1"),
        (("--csv",), "--csv is no option of outliers any more; --json has all."),
        (("--family", "gone"), "gone"),
        (("-w", "none.json"), "none.json"),
    ],
)
def test_bad_options_are_one_line(run, options, said):
    assert said in refusal(run("outliers", "--from", "device/test.jsonl", *options))


def test_no_store_is_one_line(run):
    assert "none.jsonl" in refusal(run("outliers", "--from", "none.jsonl"))
    assert "gone" in refusal(run("outliers", "--from", "gone"))


def test_no_weights_says_what_to_do(run):
    Path(f"device/{NAME}.json").unlink()
    assert "no OpenCL device was found to take the weights of" in refusal(run("outliers", "--from", "device"))
    Path("device/weights.txt").write_text("{}")
    assert "weights" in refusal(run("outliers", "--from", "device", "-w", "device/weights.txt"))


def test_a_store_without_a_time_is_refused(run):
    Path("device/test.jsonl").write_text("")
    said = refusal(run("outliers", "--from", "device/test.jsonl"))
    assert "'device/test.jsonl' holds no time of a kernel that ran; give another store with --from" in said


def test_a_store_of_another_device_is_refused(run):
    path = Path("device/test.jsonl")
    path.write_text(path.read_text().replace('"device": "', '"device": "another '))
    said = refusal(run("outliers", "--from", str(path)))
    assert "holds times of 'another " in said
    assert "give weights of that device with --weights, or another store with --from" in said


def test_no_line_is_wider_than_the_terminal(run, monkeypatch):
    asked = ("outliers", "--from", "device/test.jsonl", "--factor", "1.5")
    whole = run(*asked).stdout
    for columns in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = run(*asked).stdout.splitlines()
        assert [] == [line for line in lines if len(line) > columns]
    assert any(line.startswith("not shown: usual") for line in lines)
    assert whole == run(*asked, "--wide").stdout

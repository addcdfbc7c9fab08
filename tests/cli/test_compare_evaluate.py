"""``perfmodel evaluate`` on the committed measurements; no device is needed."""

from __future__ import annotations

import csv
import json
import math
import shutil
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.calibration import recommended
from perfmodel.calibration.calibrate import CORE, judge_family
from perfmodel.calibration.recommended import FoundWeights
from perfmodel.cli import application
from perfmodel.compare.protocols import RECORDED
from perfmodel.display import in_words
from perfmodel.errors import FactsError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.fitting import FamilyFits, FitOptions
from perfmodel.models import find_family
from perfmodel.report import predictions_csv
from perfmodel.store import read
from tests.fitting import by_hand
from tests.recorded import POCL, SIMULATED

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"


def run(*arguments: str):
    return CliRunner().invoke(application(), list(arguments))


def test_both_tables_and_all_protocols():
    result = run("evaluate", "--from", str(DATA))
    assert 0 == result.exit_code, result.stderr
    for part in ("Table 1.", "Table 2.", "std. error", "convolution", "matmul_skinny", "nbody", "stencil"):
        assert part in result.stdout
    figures = result.stdout.rpartition("Figures")[2]
    for protocol in ("  A  ", "  B  ", "  sizes  "):
        assert protocol in figures


def test_a_simulated_device_is_not_pooled_with_others():
    refused = run("evaluate", "--from", str(DATA), "--from", str(SIMULATED))
    assert 2 == refused.exit_code
    assert "whose times are a simulator's" in refused.stderr


def test_other_kernels_of_the_folder(tmp_path):
    folder = tmp_path / "device"
    shutil.copytree(DATA, folder)
    (folder / "test.jsonl").rename(folder / "mine.jsonl")
    options = ("--protocol", "A", "--csv", "predictions")
    found = run("evaluate", "--from", str(folder), "--tests", "mine.jsonl", *options)
    assert run("evaluate", "--from", str(DATA), *options).stdout == found.stdout != ""
    missing = run("evaluate", "--from", str(folder), "--protocol", "A")
    assert 2 == missing.exit_code
    assert "test.jsonl" in missing.stderr


def test_without_test_kernels_measured_ones_are_left_out(tmp_path):
    folder = tmp_path / "device"
    shutil.copytree(DATA, folder)
    (folder / "test.jsonl").unlink()
    result = run("evaluate", "--from", str(folder))
    assert 0 == result.exit_code, result.stderr
    assert "Table 1. Times of measured kernels (protocol groups)" in result.stdout
    for protocol in RECORDED:
        assert f"  {protocol}  " in result.stdout.rpartition("Figures")[2]


def test_without_a_folder_that_of_the_weights_of_the_device_in_use(tmp_path, monkeypatch):
    folder = tmp_path / "device"
    shutil.copytree(DATA, folder)
    found = FoundWeights(folder / "overlap.json", DeviceFacts("D", "P", "1", ()), "your own")
    asked = []
    monkeypatch.setattr(recommended, "find_weights", lambda *device: asked.append(device) or found)
    options = ("--protocol", "A", "--csv", "predictions")
    result = run("evaluate", *options)
    assert [(None, None)] == asked
    assert run("evaluate", "--from", str(DATA), "--family", "overlap", *options).stdout == result.stdout
    assert f"perfmodel: {found.text}\n" == result.stderr


def test_chosen_protocols():
    result = run("evaluate", "--from", str(DATA), "--protocol", "B", "--protocol", "C")
    assert 0 == result.exit_code, result.stderr
    assert "Table 1. Times of test kernels (protocol B)" in result.stdout
    assert "protocol sizes:" not in result.stdout
    found = json.loads(run("evaluate", "--from", str(DATA), "--protocol", "C", "--json").stdout)["models"][0]
    by = {one["protocol"]: one["figures"] for one in found["evaluations"]}
    assert ["C", "A/C", "B/C"] == list(by)
    # four kernels at four sizes each, of which the smallest is the anchor
    assert [12, 12, 12] == [figures["cases"] for figures in by.values()]
    assert by["C"]["error"] < by["B/C"]["error"]
    refused = run("evaluate", "--from", str(DATA), "--protocol", "D")
    assert 2 == refused.exit_code
    assert "--protocol is 'D'; give one of A, B, sizes, C, A/C, B/C" in refused.stderr


def test_several_devices_at_once(tmp_path):
    other = tmp_path / "other"
    shutil.copytree(DATA, other)
    for name in ("measurements.jsonl", "test.jsonl"):
        text = (other / name).read_text()
        (other / name).write_text(text.replace('"device": "', '"device": "another '))
    found = json.loads(run("evaluate", "--from", str(DATA), "--from", str(other), "--json").stdout)
    first, second = found["models"]
    assert "another " + first["device"] == second["device"]
    assert first["evaluations"] == second["evaluations"]
    assert [16, 16, 115] == [each["figures"]["cases"] for each in first["evaluations"]]
    assert all(each["figures"]["withheld"] == 0 for each in first["evaluations"][:1])


def test_the_fit_of_the_committed_data_is_as_good_as_it_was():
    found = json.loads(run("evaluate", "--from", str(DATA), "--json").stdout)
    a, b, _ = (each["figures"] for each in found["models"][0]["evaluations"])
    assert pytest.approx(0.440, abs=0.02) == a["error"]
    assert a["error"] <= b["error"]


def test_csv():
    rows = list(csv.DictReader(StringIO(run("evaluate", "--from", str(DATA), "--csv", "predictions").stdout)))
    assert 2 * 16 + 115 == len(rows)
    weights = list(csv.DictReader(StringIO(run("evaluate", "--from", str(DATA), "--csv", "weights").stdout)))
    assert "launches" in [row["feature"] for row in weights]
    assert 2 == run("evaluate", "--from", str(DATA), "--csv", "everything").exit_code


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--from", "none"), "none"),
        (("--from", str(DATA), "--family", "gone"), "gone"),
    ],
)
def test_bad_input_is_one_line(command, options, part):
    result = run(command, *options)
    assert 2 == result.exit_code
    assert part in result.stderr.splitlines()[-1]


def test_a_level_is_a_probability():
    with pytest.raises(PerfModelError, match="level is 90"):
        judge_family(DATA, find_family(CORE), level=90)


def test_test_kernels_of_another_device_are_refused(tmp_path):
    shutil.copytree(DATA, tmp_path / "mixed")
    tests = tmp_path / "mixed" / "test.jsonl"
    tests.write_text(tests.read_text().replace('"device": "', '"device": "another '))
    result = run("evaluate", "--from", str(tmp_path / "mixed"))
    assert 2 == result.exit_code
    assert "another" in result.stderr


def test_a_fact_that_only_a_fit_could_give_is_refused_where_asked(tmp_path):
    given = ("--from", str(POCL), "--family", "roofline", "--given-facts")
    result = run("fit", *given, "-o", str(tmp_path / "w.json"))
    assert 2 == result.exit_code
    assert "the family 'roofline' needs the fact" in result.stderr
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(FactsError, match="the family 'roofline' needs the fact"):
        judge_family(POCL, find_family("roofline"), FitOptions(fit_facts=False))


def test_a_row_is_judged_by_other_groups_than_its_own():
    """An interval's factor for each test row, from the errors of the other groups' rows, in plain loops."""
    judged = judge_family(DATA, find_family(CORE), level=0.6)
    rows = list(csv.DictReader(StringIO(predictions_csv(judged.evaluations))))
    fits = FamilyFits(read(DATA), find_family("stevens_kloeckner_2016"), tests=read(DATA / "test.jsonl"))
    names = [fits.refits.table.names.index(name) for name in fits.design.names]
    errors = by_weight(fits.rows, fits.predict_without_group(), names)
    tests = by_weight(fits.rows[len(fits.seen) :], fits.predict_tests(), names)
    predicted = {(row.kernel, in_words(row.parameters)): own for row, own in zip(fits.tests, tests, strict=True)}
    found, widths = [row for row in rows if row["protocol"] == "A" and float(row["predicted_s"]) > 0], set()
    assert 16 == len(found)

    @cache
    def half_width_without(group):
        return by_hand.half_width([one for one in errors if one is not None and one[1] != group], 0.6)

    for row in found:
        _, group, rests_on = predicted[row["kernel"], row["sizes"]]
        half = half_width_without(group)(rests_on)
        assert pytest.approx(float(row["predicted_s"]) * math.exp(half), rel=1e-6) == float(row["high_s"])
        widths.add(round(half, 6))
    assert len(widths) > 1
    assert math.inf not in widths


def by_weight(rows, found, names):
    """Of each row its error of log time, group, and what it rests on; None where withheld."""
    cases = []
    columns = found.seconds, found.by_weight, found.lack, found.private
    for row, seconds, parts, lack, private in zip(rows, *columns, strict=True):
        own = [abs(float(parts[i])) for i in names]
        shares, error = [part / sum(own) for part in own], abs(math.log(row.seconds / abs(seconds)))
        rests_on = by_hand.rests_on(shares, float(lack), float(private)) if seconds > 0 else ()
        cases.append((max(error, 1e-3), row.group, rests_on) if seconds > 0 else None)
    return cases


def test_test_kernels_of_another_device(tmp_path):
    other = tmp_path / "other"
    shutil.copytree(DATA, other)
    tests = other / "test.jsonl"
    tests.write_text(tests.read_text().replace('"device": "', '"device": "another '))
    for command in ("fit", "evaluate"):
        result = run(command, "--from", str(other))
        assert 0 != result.exit_code
        assert "another " in result.stderr + str(result.exception)

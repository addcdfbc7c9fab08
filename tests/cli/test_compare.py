"""``perfmodel compare`` on the committed measurements; no device is needed."""

import csv
import json
import shutil
from functools import partial
from io import StringIO

import pytest

from perfmodel.calibration import recommended
from perfmodel.calibration.calibrate import CORE, judge_family
from perfmodel.calibration.recommended import FoundWeights
from perfmodel.compare.protocols import RECORDED
from perfmodel.errors import PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.models import find_family
from tests.cli.program import invoke, ran, refused
from tests.recorded import QUICKSTART, SIMULATED

SHORT = QUICKSTART.with_name("calibrate-quick")
LINEAR = "stevens_kloeckner_2016"
BOTH = ("--family", LINEAR, "--family", "roofline")
ONE = ("--family", LINEAR)
run = partial(invoke, "compare")


def copy(folder):
    shutil.copytree(QUICKSTART, folder)
    return folder


def test_families_side_by_side(tmp_path):
    picture = tmp_path / "families.svg"
    text = run("--from", str(QUICKSTART), *BOTH, "--picture", str(picture)).stdout
    assert picture.read_text().startswith("<?xml")
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith(f"{LINEAR} ")]
    assert [[LINEAR, "A"], [LINEAR, "B"]] == rows
    shown = json.loads(run("--from", str(QUICKSTART), *BOTH, "--json").stdout)
    assert "perfmodel.comparison/1" == shown["schema"]
    evaluated = json.loads(run("--from", str(QUICKSTART), *ONE, "--json").stdout)["models"][0]["evaluations"]
    overall = [row for row in shown["rows"] if row["kernel"] == "all" and row["family"] == LINEAR]
    for row, each in zip(overall, evaluated, strict=False):
        assert each["protocol"] == row["protocol"]
        for name in ("error", "factor", "regret", "tau"):
            assert each["figures"][name] == pytest.approx(row[name])
    written = csv.DictReader(StringIO(run("--from", str(QUICKSTART), *BOTH, "--csv").stdout))
    assert [row["kernel"] or "" for row in shown["rows"]] == [row["kernel"] for row in written]


def test_devices_of_the_current_folder(tmp_path, monkeypatch):
    for name in ("pocl-one", "other-two"):
        copy(tmp_path / "fitted_weights" / name)
    monkeypatch.chdir(tmp_path)
    both = run(*BOTH)
    assert 2 == both.stdout.count("family  "), both.stderr
    assert both.stderr.startswith("perfmodel: each family is fitted many times")
    assert "" == run("-q", "--from", "fitted_weights/pocl-one", *BOTH).stderr


def test_facts_of_the_folder_replace_unknown_ones(tmp_path):
    folder = copy(tmp_path / "device")
    asked = ("--from", str(folder), *BOTH)
    assert "needs the fact 'global_transaction_bytes'" in run(*asked).stdout
    written = "facts: {global_transaction_bytes: {value: 32, unit: B, source: a guess}}"
    (folder / "facts.yaml").write_text(written)
    with_facts = run(*asked).stdout
    assert "needs the fact" not in with_facts
    assert "\nroofline " in with_facts


def test_one_family_has_both_tables_and_all_protocols(tmp_path):
    result = ran(run("--from", str(QUICKSTART), *ONE, "--picture", str(tmp_path / "accuracy.png")))
    assert b"\x89PNG" == (tmp_path / "accuracy.png").read_bytes()[:4]
    for part in ("Table 1.", "Table 2.", "std. error", "convolution", "matmul_skinny", "nbody", "stencil"):
        assert part in result.stdout
    figures = result.stdout.rpartition("Figures")[2]
    assert all(f"  {protocol}  " in figures for protocol in ("A", "B", "sizes"))


def test_without_test_kernels_measured_ones_are_left_out(tmp_path):
    folder = copy(tmp_path / "device")
    (folder / "test.jsonl").unlink()
    result = ran(run("--from", str(folder), *ONE))
    assert "Table 1. Times of measured kernels (protocol groups)" in result.stdout
    assert all(f"  {protocol}  " in result.stdout.rpartition("Figures")[2] for protocol in RECORDED)
    shutil.copy(QUICKSTART / "test.jsonl", folder / "mine.jsonl")
    options = ("--protocol", "A", "--csv")
    found = run("--from", str(folder / "mine.jsonl"), *options)
    assert run("--from", str(QUICKSTART), *options).stdout == found.stdout != ""
    missing = run("--from", str(folder), "--protocol", "A")
    assert (2, True) == (missing.exit_code, "test.jsonl" in missing.stderr)


def test_without_a_folder_the_weights_of_the_device_in_use_are_judged(tmp_path, monkeypatch):
    folder = copy(tmp_path / "device")
    found = FoundWeights(folder / "overlap.json", DeviceFacts("D", "P", "1", ()), "your own")
    asked = []
    monkeypatch.setattr(recommended, "find_weights", lambda *device: asked.append(device) or found)
    result = run("--protocol", "A", "--csv")
    assert [(None, None)] == asked
    assert run("--from", str(QUICKSTART), "--family", "overlap", "--protocol", "A", "--csv").stdout == result.stdout
    assert f"perfmodel: {found.text}\n" == result.stderr


def test_chosen_protocols():
    found = json.loads(run("--from", str(QUICKSTART), "--protocol", "C", "--json").stdout)["models"][0]
    by = {one["protocol"]: one["figures"] for one in found["evaluations"]}
    assert ["C", "A/C", "B/C"] == list(by)
    # four kernels at four sizes each, of which the smallest is the anchor
    assert [12, 12, 12] == [figures["cases"] for figures in by.values()]
    assert by["C"]["error"] < by["B/C"]["error"]


def test_several_devices_at_once(tmp_path):
    other = copy(tmp_path / "other")
    for name in ("measurements.jsonl", "test.jsonl"):
        text = (other / name).read_text()
        (other / name).write_text(text.replace('"device": "', '"device": "another '))
    found = json.loads(run("--from", str(QUICKSTART), "--from", str(other), *ONE, "--json").stdout)
    first, second = found["models"]
    assert "another " + first["device"] == second["device"]
    assert first["evaluations"] == second["evaluations"]
    a, b, sizes = (each["figures"] for each in first["evaluations"])
    assert [16, 16, 115] == [a["cases"], b["cases"], sizes["cases"]]
    assert pytest.approx(0.440, abs=0.02) == a["error"]
    assert a["error"] <= b["error"]


def test_the_roofline_of_measurements(tmp_path):
    result = ran(run("--roofline", "--from", str(SHORT), "--picture", str(tmp_path / "roofline.png")))
    assert b"\x89PNG" == (tmp_path / "roofline.png").read_bytes()[:4]
    assert "GB/s (measured, best median of" in result.stdout
    found = json.loads(run("--roofline", "--from", str(SHORT), "--json").stdout)
    shares = [one["share"] for one in found["kernels"]]
    assert 0 < min(shares) < max(shares) < 2
    assert len(shares) == len(run("--roofline", "--from", str(SHORT), "--csv").stdout.splitlines()) - 1


@pytest.mark.parametrize(("options", "part"), [
    (("--from", "none", *BOTH), "none"), (("--from", str(QUICKSTART), "--family", "gone"), "gone"),
    (("--from", str(QUICKSTART), *BOTH, "--family", "gone"), "gone"),
    (("--from", str(QUICKSTART), "--protocol", "D"), "--protocol is 'D'; give one of A, B, sizes, C, A/C, B/C"),
    (("--from", str(QUICKSTART), *BOTH, "--protocol", "A"), "--protocol was given with several families"),
    (("--from", str(QUICKSTART), "--from", str(SIMULATED), *ONE), "whose times are simulated"),
    (("--roofline", "--from", str(QUICKSTART), *ONE), "--roofline was given with --family"),
    (("--roofline", "--from", "a", "--from", "b"), "--roofline was given with several folders"),
    (("--from", str(QUICKSTART), *ONE, "--picture", "a.pdf"), "'a.pdf' is not a picture file"),
    (("--json", "--csv"), "--json and --csv both write to standard output"),
])  # fmt: skip
def test_bad_input_is_one_line(options, part):
    assert part in refused(run(*options)).splitlines()[-1]


def test_test_kernels_of_another_device_are_refused(tmp_path):
    tests = copy(tmp_path / "mixed") / "test.jsonl"
    tests.write_text(tests.read_text().replace('"device": "', '"device": "another '))
    result = run("--from", str(tmp_path / "mixed"), *ONE)
    assert (2, True) == (result.exit_code, "another" in result.stderr)
    with pytest.raises(PerfModelError, match="level is 90"):
        judge_family(QUICKSTART, find_family(CORE), level=90)

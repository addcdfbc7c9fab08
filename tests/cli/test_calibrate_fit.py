"""``perfmodel fit``: committed weights come out again, and no file is replaced unasked."""

import json
import shutil
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from perfmodel.calibration import calibrate
from perfmodel.counts import count
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.kernels import load_kernel_file
from perfmodel.models import families
from perfmodel.predicting.model import fit
from perfmodel.store import Measurement, append
from tests.cli.program import document, invoke, ran, refused
from tests.recorded import DEVICES, INTEL, QUICKSTART

CORE = "stevens_kloeckner_2016"
run = partial(invoke, "fit")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "device")
    return tmp_path / "device"


@pytest.fixture
def two_families(monkeypatch):
    known = {name: families()[name] for name in (CORE, "overlap")}
    monkeypatch.setattr(calibrate, "families", lambda: known)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "family"),
    [
        pytest.param(*one, marks=() if one == (INTEL, CORE) else pytest.mark.nightly)
        for one in product(DEVICES, sorted(families()))
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_committed_weights_come_out_again(device, family, tmp_path):
    ran(run("--from", device, "--family", family, "-o", tmp_path / "w.json"))
    found, committed = (json.loads(path.read_text()) for path in (tmp_path / "w.json", device / f"{family}.json"))
    assert committed["weights"].keys() == found["weights"].keys()
    for name, weight in committed["weights"].items():
        assert pytest.approx(weight["value"], rel=1e-12, abs=0) == found["weights"][name]["value"], name


def test_a_file_that_is_there_is_replaced_only_where_it_is_named(folder):
    path = folder / f"{CORE}.json"
    path.write_text("mine")
    assert f"'{path}' exists already; give --out FILE" in refused(run("--from", folder))
    assert "mine" == path.read_text()
    assert 0 == run("--from", folder, "--out", str(path)).exit_code
    assert "weights" in json.loads(path.read_text())


def test_all_families_with_a_verdict(folder, tmp_path, two_families, request):
    """First with several processes, as by default; then with one, which must write the same weights."""
    out = tmp_path / "out"
    found = document(run("--all", "--from", folder, "--out", out, "--json"))
    assert ("perfmodel.calibration/1", {CORE, "overlap"}) == (found["schema"], found["weights_files"].keys())
    assert {CORE, "overlap"} <= {row["family"] for row in found["comparison"]}
    request.getfixturevalue("one_process")
    result = ran(run("--all", "--from", folder, "--out", out))
    weights, rest = {f"{CORE}.json", "overlap.json"}, {"recommended.json", "roofs.yaml", "verdict.txt"}
    assert weights | rest == {path.name for path in out.iterdir()}
    assert (out / "verdict.txt").read_text() in result.stdout
    assert "verdict: usable" in result.stdout
    assert f"wrote {out}" in result.stdout
    measured, tests, samples = recorded_folder(folder)
    alone = fit(measured, CORE, nonnegative=True, others=tests, samples=samples)
    alone.save(tmp_path / "alone.json")
    assert (tmp_path / "alone.json").read_text() == (out / f"{CORE}.json").read_text()


@pytest.mark.usefixtures("one_process")
def test_all_families_with_given_facts(folder, monkeypatch):
    monkeypatch.setattr(calibrate, "families", lambda: {name: families()[name] for name in (CORE, "roofline")})
    result = ran(run("--all", "--from", folder, "--facts", "gtx-480"))
    written = json.loads((folder / "roofline.json").read_text())
    assert "global_transaction_bytes" in written["facts"]["facts"]
    result = run("--all", "--from", folder, "--out", str(folder.parent / "without"))
    assert "not fitted: roofline: the family 'roofline' needs the fact 'global_transaction_bytes'" in result.stdout


@pytest.mark.parametrize("name", ["overlap.json", "verdict.txt"])
def test_all_families_replace_nothing_unasked(folder, two_families, name):
    (folder / name).write_text("mine")
    before = sorted(folder.iterdir())
    assert f"'{folder / name}' exists already; give --out FOLDER" in refused(run("--all", "--from", folder))
    assert before == sorted(folder.iterdir())


def test_options_of_all_families_that_are_refused(folder):
    mixed = "--all was given with an option of a single fit"
    for source, arguments, part in (
        (folder, ("--driver", "x"), mixed), (folder, ("--family", "overlap"), mixed),
        (folder / "measurements.jsonl", (), "measurements.jsonl', which is not a folder"),
    ):  # fmt: skip
        result = run("--all", "--from", str(source), *arguments)
        assert (2, True) == (result.exit_code, part in result.stderr)


def store_times(folder: str) -> None:
    """Times of the kernel file's variants, as if each access took 1 ns and a launch 5 us."""
    for name, unit in load_kernel_file("variants.py").variants.items():
        counts = count(unit)
        for n in (2**10, 2**16, 2**20):
            row = Measurement(
                kernel=name, group="scale", variant={}, parameters={"n": n}, device="d", platform="p", driver="1",
                versions={}, kernel_hash=name, counts_hash=counts.hash, dropped=1, status="ok",
                samples_s=(1.0, 5e-6 + 2e-9 * n, 6e-6 + 2e-9 * n),
            )  # fmt: skip
            append(folder, row, counts)


def test_fit_writes_the_weights_next_to_the_measurements(perfmodel):
    store_times("d")
    found = document(perfmodel("fit", "--from", "d", "--json"))
    assert found == json.loads(Path("d/stevens_kloeckner_2016.json").read_text())
    assert pytest.approx(5e-6, rel=1e-8) == found["weights"]["launches"]["value"]
    assert 9 == found["rows"]
    text = perfmodel("fit", "--from", "d/measurements.jsonl", "-o", "new/w.json").stdout
    assert "stevens_kloeckner_2016 on d, 9 measurements" in text
    assert "note: not determined separately" in text
    assert "wrote new/w.json" in text
    predicted = document(perfmodel("predict", "kernel.py", "-p", "n=4096", "-w", "new/w.json", "--json"))
    assert pytest.approx(5e-6 + 2e-9 * 4096, rel=1e-8) == predicted["predictions"][0]["seconds"]


def rewritten(folder, change, places):
    """Change records of the store at these places, and return their kernels."""
    path = folder / "measurements.jsonl"
    lines = path.read_text().splitlines()
    records = {place: json.loads(lines[place]) for place in places}
    for place, record in records.items():
        change(record)
        lines[place] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n")
    return [record["kernel"] for record in records.values()]


def test_an_impossible_time_is_reported_in_text_and_json_by_fit_and_evaluate(folder, tmp_path):
    def change(record):
        record["samples_s"] = [1e-9 for _ in record["samples_s"]]

    (kernel,) = rewritten(folder, change, [40])
    message = f"measurements.jsonl': 1 impossible time was left out ({kernel}"
    out = tmp_path / "w.json"
    result = ran(run("--from", folder, "-o", out))
    assert all(message in " ".join(text.split()) for text in (result.stdout, result.stderr))
    assert message in json.loads(out.read_text())["notes"][0]
    found = document(run("--from", folder, "-o", out, "--json"))
    assert (message in found["notes"][0], 114) == (True, found["rows"])
    judged = document(invoke("compare", "--from", folder, "--protocol", "A", "--json"))
    assert message in judged["models"][0]["notes"][0]


def test_rows_of_two_drivers_are_reported_and_one_can_be_fitted(folder, tmp_path):
    rewritten(folder, lambda record: record.update(driver="new 7.1"), range(100))
    out = tmp_path / "w.json"
    result = run("--from", folder, "-o", out)
    message = "the measurements are of 2 drivers, and weights are fitted to all of them: 'new 7.1' (100 rows), "
    assert 0 == result.exit_code, result.stderr
    assert all(message in " ".join(text.split()) for text in (result.stdout, result.stderr))
    one = document(run("--from", folder, "-o", out, "--driver", "new 7.1", "--json"))
    assert (100, False) == (one["rows"], any("drivers" in note for note in one["notes"]))
    wrong = run("--from", folder, "-o", out, "--driver", "8")
    assert (2, True) == (wrong.exit_code, "was measured with the driver '8'" in wrong.stderr)

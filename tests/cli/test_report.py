"""``perfmodel report``: the file that it writes, and what it refuses."""

import json
import shutil
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.calibration import recommended
from perfmodel.predicting.model import fit
from tests.cli.program import ran
from tests.recorded import QUICKSTART
from tests.report.html.reported import Tree

STRANGE = '''
from variants import scale

def variants():
    return {
        "good": scale("out[i] = a[i] + 1", 128),
        "unmeasured": scale("out[i] = fmax(a[i], 1)", 128),
        "<b>outside</b>": scale("out[i] = a[i + 1]", 128),
    }
'''


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The folder of a device with its weights."""
    folder = tmp_path_factory.mktemp("fitted") / "device"
    shutil.copytree(QUICKSTART, folder)
    fit(store.read(QUICKSTART)).save(folder / "stevens_kloeckner_2016.json")
    return folder


@pytest.fixture
def run(perfmodel, fitted):
    """A runner of commands beside kernel files and the folder of a device: ``device``."""
    shutil.copytree(fitted, "device")
    return perfmodel


def known(found, status: int = 2) -> str:
    assert status == found.exit_code, found.output
    return " ".join(found.stderr.split())


def test_weights_that_ship_have_no_rows_to_report(run, monkeypatch, tmp_path):
    """A wheel's user was told of a file that no wheel has."""
    shutil.copytree("device", "own/device")
    for path in (*Path("device").glob("measurements*"), *Path("device").glob("counts*")):
        path.unlink()
    weights, facts = Path("device/stevens_kloeckner_2016.json"), store.read("own/device").facts
    found = recommended.FoundWeights(weights, facts, recommended.SHIPPED)
    monkeypatch.setattr(recommended, "find_weights", lambda *_: found)
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "none")
    refused = known(run("report"))
    assert "has weights, but not the measurements for a report; calibrate the device first" in refused
    monkeypatch.setattr(recommended, "data_folder", lambda: Path("own"))
    assert "the report is on own/device" in known(run("report"), 0)


def test_a_devices_report(run):
    page = run("report", "--from", "device", "--out", "-").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    found = ran(run("report", "--from", "device", "--out", "new/report.html"))
    text = Path("new/report.html").read_text(encoding="utf-8")
    assert f"report: new/report.html ({len(text.encode()) / 1e6:.1f} MB)" in found.stdout
    tree = Tree(text).root
    assert "Version of perfmodel" in tree.text
    assert "usable neither to time nor to rank" in tree.text  # as the README says
    assert "own" not in {one.attributes.get("id") for one in tree.every("section")}


def test_a_users_variants_are_first_and_json_shows_it(run):
    found = run("report", "variants.py", "-p", "n=1Ki", "--from", "device", "--out", "report.html", "--json")
    document = json.loads(found.stdout)
    assert {"small", "large", "product"} == set(document["variants"])
    assert ("perfmodel.report/1", "report.html") == (document["schema"], document["report"])
    assert Path("report.html").stat().st_size == document["bytes"]
    root = Tree(Path("report.html").read_text(encoding="utf-8")).root
    assert ["own", "overview"] == [one.attributes["id"] for one in root.every("section")][:2]


def test_what_cannot_be_predicted_is_shown_and_ends_nothing(run):
    Path("strange.py").write_text(STRANGE)
    found = run("report", "strange.py", "-p", "n=1024", "--from", "device", "--json")
    document = json.loads(found.stdout)
    assert {"good", "unmeasured"} == {*document["variants"]}  # which has the cost of a relative
    assert {"<b>outside</b>"} == set(document["withheld"])
    tree = Tree(Path("report.html").read_text(encoding="utf-8")).root
    assert [] == tree.every("b")
    assert "<b>outside</b>" in tree.text
    assert "was never measured on this device: taken as" in " ".join(tree.text.split())
    # A size that a variant does not allow is a reason too.
    found = run("report", "variants.py", "-p", "n=100", "--from", "device", "--json")
    assert ([], 3) == (json.loads(found.stdout)["variants"], len(json.loads(found.stdout)["withheld"]))


def test_a_folder_without_test_kernels_or_probes(run):
    Path("device/test.jsonl").unlink()
    assert 0 == run("report", "--from", "device").exit_code
    text = Tree(Path("report.html").read_text(encoding="utf-8")).root.text
    assert "There are no test kernels in the folder" in text
    assert "Families are compared on test kernels" in text
    assert "have no place below roofs" in text


@pytest.mark.parametrize(("arguments", "expected"), [
    (("--from", "missing"), "no measurements at 'missing'; give"),
    (("--from", "device", "--family", "roofline"), "'device' holds no weights of the family 'roofline'; choose"),
    (("--from", "device", "--out", "device"), "cannot write 'device': it is a folder; name a file in it"),
    (("--from", "device", "--out", "kernel.py/x.html"), "cannot write 'kernel.py/x.html'"),
    (("--from", "device", "-p", "n=8"), "without a kernel file; name it first: perfmodel report KERNEL.PY"),
    (("missing.py", "--from", "device"), "no kernel file at 'missing.py'"),
    (("kernel.py", "--from", "device"), "size parameter 'n' is missing"),
    (("kernel.py", "-p", "n=1..8", "--from", "device"), "give one size here"),
    (("--from", "device", "--json", "--out", "-"), "both write to standard output"),
    ((), "no OpenCL device was found to take the weights of"),
])  # fmt: skip
def test_what_is_refused(run, arguments, expected):
    assert expected in known(run("report", *arguments))
    assert not Path("report.html").exists()

"""``perfmodel measure``: one document, one summary, one line for bad input."""

import json
from functools import partial
from types import SimpleNamespace

import pytest

from perfmodel import measuring
from perfmodel.calibration import kernel_choice, recommended
from perfmodel.fitting import FittedWeight
from perfmodel.measuring import run
from perfmodel.opencl import Health, health
from perfmodel.predicting.model import fit, load
from perfmodel.store import read
from tests.cli.conftest import KERNEL, SCALE
from tests.cli.program import invoke, ran, refused
from tests.fitting.test_weights_file import measurements
from tests.machine import ROOT, device

perfmodel = partial(invoke, "measure")
pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """So few configurations would wait for their next visit."""
    monkeypatch.setattr(run, "sleep", lambda seconds: None)


@pytest.fixture
def kernels(tmp_path):
    """A folder with the empty kernel only."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "empty.py").write_text((ROOT / "measurement_kernels" / "empty.py").read_text())
    return folder


def test_json_is_one_document_and_a_second_call_has_nothing_to_do(tmp_path, kernels):
    asked = ("--quick", "--store", tmp_path / "m.jsonl", "--kernels", kernels)
    result = ran(perfmodel(*asked, "--json"))
    document = json.loads(result.stdout)
    assert "perfmodel.measure/1" == document["schema"]
    assert {"ok"} == set(document["statuses"])
    assert document["flags"].keys() <= {"spread", "clock", "bound", "visits"}
    assert 0 < document["seconds"] < 600
    assert all(row["seconds"] > 0 and 2 <= row["visits"] <= 8 for row in document["rows"])
    assert document["visits"] == sum(row["visits"] for row in document["rows"])
    again = perfmodel(*asked)
    assert "configurations measured" in again.stdout
    assert "measuring: 0 steps" in again.stderr


def test_samples_are_measured_into_a_file_of_their_own(tmp_path, monkeypatch):
    some = kernel_choice.shipped_samples()[:4]  # of which a quick campaign takes each third
    monkeypatch.setattr(kernel_choice, "shipped_samples", lambda: some)
    ran(perfmodel("--class", "samples", "--quick", "--store", tmp_path))
    rows = read(tmp_path / "samples.jsonl")
    assert [("sample_1", "ok"), (some[3].name, "ok")] == sorted({(row.kernel, row.status) for row in rows})
    assert not (tmp_path / "measurements.jsonl").exists()
    assert all(rows.counts[row.counts_hash].name == row.kernel for row in rows)


@pytest.mark.parametrize(("arguments", "message"), [
    (("--device", "no such device"), "no such device"), (("--kernels", "nowhere"), "nowhere"),
    (("--class", "samples"), "no kernel class is called 'samples'"), (("--full",), "--quick and --full"),
    (("--class", "no_such"), "no kernel class is called 'no_such' or has such a tag; choose of empty"),
    (("--class", "no_such"), "or of the tags overhead, paper"), (("--store", "/proc/nowhere"), "/proc/nowhere"),
    (("--store", ROOT / "setup.cfg" / "below"), "setup.cfg"),
])  # fmt: skip
def test_bad_input_is_one_line_and_status_two(tmp_path, kernels, arguments, message):
    given = ("--quick", "--store", tmp_path / "s", "--kernels", kernels, *arguments)
    (line,) = [line for line in refused(perfmodel(*given)).splitlines() if line]
    assert line.startswith("perfmodel: error:")
    assert message in line


def test_a_device_that_cannot_build_is_one_line(tmp_path, kernels, monkeypatch):
    monkeypatch.setattr(health, "check", lambda device: Health(False, 0.0, "unknown target CPU"))
    (line,) = refused(perfmodel("--quick", "--store", tmp_path / "s", "--kernels", kernels)).splitlines()
    assert "unknown target CPU" in line
    assert not (tmp_path / "s").exists()


def test_classes_and_tags_choose(tmp_path, kernels):
    (kernels / "naive.py").write_text((ROOT / "measurement_kernels" / "matmul_naive.py").read_text())
    for value in ("empty", "overhead"):
        result = perfmodel("--store", tmp_path / value, "--kernels", kernels, "--class", value, "--json")
        assert {"empty"} == {row["kernel"] for row in json.loads(result.stdout)["rows"]}


@pytest.fixture
def campaigns(tmp_path, monkeypatch):
    """The stores and classes of campaigns that are asked for; the weights in use know one kernel's features."""
    class Nothing(list):
        current, device, set_aside, notes = (), "stand-in", (), ()

    asked, facts = [], device().facts
    folder = tmp_path / "shipped" / "stand-in"
    folder.mkdir(parents=True)
    weights = recommended.FoundWeights(folder / "stevens_kloeckner_2016.json", facts, recommended.SHIPPED)
    known = fit(measurements()).fitted
    more = dict.fromkeys(
        ("global_store_32_stride1", "global_minloadstore_32_stride1"), FittedWeight(value=1e-10, unit="s/access")
    )
    more = {**known.weights, **more}
    known.model_copy(update={"weights": more, "features": tuple(sorted(more)), "measured": None}).save(weights.path)
    (folder / "measurements.jsonl").touch()
    monkeypatch.setattr(recommended, "weights_of", lambda facts: weights)
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "own")
    monkeypatch.setattr(kernel_choice, "refitted", lambda folder, names: {name: load(weights.path) for name in names})
    monkeypatch.setattr(measuring, "measure", lambda kernels, *given: asked.append((given[1], kernels)) or Nothing())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.py").write_text(ROWS)
    return SimpleNamespace(asked=asked, own=tmp_path / "own" / "stand-in")


ROWS = SCALE + '''

def kernel():
    t_unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < stop}"],
        "for i\\n <> stop = length[i]\\n out[i] = sum(j, a[i, j]) \\n end",
        [lp.GlobalArg("length", np.int32, shape="n"), lp.GlobalArg("out", np.float64, shape="n"),
         lp.GlobalArg("a", np.float64, shape="n, 64"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
'''


def test_what_the_weights_in_use_know_is_not_measured_again(campaigns, tmp_path):
    (tmp_path / "known.py").write_text(KERNEL)
    result = perfmodel("--for", "known.py", "-p", "n=4096")
    assert (0, "all features that the kernel needs are measured\n") == (result.exit_code, result.stdout)
    assert [] == campaigns.asked
    assert not campaigns.own.exists()


def test_what_they_lack_is_measured_next_to_their_rows_and_fitted(campaigns):
    result = ran(perfmodel("--for", "rows.py", "-p", "n=4096", "--statistics", "j=3", "--quick"))
    ((store, kernels),) = campaigns.asked
    assert campaigns.own == store
    assert (campaigns.own / "stevens_kloeckner_2016.json").is_file()  # a copy of what ships
    assert "op_float64_add" in {kernel.isolates for kernel in kernels} | set(result.stderr.replace(",", "").split())
    assert "fitted again in 0 s: stevens_kloeckner_2016" in result.stdout.splitlines()
    assert result.stdout.splitlines()[-1].startswith("kernel: ")


def test_weights_without_their_rows_are_not_fitted_again(campaigns, tmp_path):
    (tmp_path / "shipped" / "stand-in" / "measurements.jsonl").unlink()
    result = perfmodel("--for", "rows.py", "-p", "n=4096", "--statistics", "j=3", "--quick")
    assert (2, []) == (result.exit_code, campaigns.asked)
    assert "calibrate the device first (perfmodel calibrate)" in result.stderr


def test_a_budget_shows_what_it_leaves_out(tmp_path, kernels):
    result = perfmodel("--budget", "0", "--store", tmp_path / "s", "--kernels", kernels)
    assert 2 == result.exit_code
    assert "the budget of 0 s is used" in result.stderr
    assert "error: no configuration was measured" in result.stderr
    assert ": 0 configurations measured" in result.stdout

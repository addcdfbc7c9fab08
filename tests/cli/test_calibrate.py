"""``perfmodel calibrate``: a device from health check to verdict, with a few kernels."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.calibration import calibrate as module
from perfmodel.facts import read_device
from perfmodel.measuring import run
from perfmodel.opencl import find
from perfmodel.predicting.model import load
from perfmodel.store.files import read_probes
from tests.cli.program import invoke, ran, refused
from tests.machine import ROOT
from tests.measuring.probes.devices import SHORT

FOLDERS = ("--kernels", "measurement_kernels", "--tests", "test_kernels")
FEW = {"measurement_kernels": ("empty", "scale_add", "stride1"), "test_kernels": ("stencil", "_stencil")}

calibrate = partial(invoke, "calibrate")
pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory with a few kernel classes."""
    for folder, names in FEW.items():
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(ROOT / folder / f"{name}.py", tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_is_a_module_that_runs_as_a_program():
    """Supervised as it is there: in a process that is started again where a kernel ends it."""
    command = [sys.executable, "-m", "perfmodel", "calibrate", "--device", "no such device"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (2, "") == (done.returncode, done.stdout)
    assert "no such device" in done.stderr


@pytest.mark.slow
def test_a_device_in_one_command(place, monkeypatch):
    monkeypatch.setattr(module, "BRIEF", SHORT)
    monkeypatch.setattr(run, "sleep", lambda seconds: None)  # no pause between visits
    done = ran(calibrate("--quick", "--budget", "600", "--out", "out", *FOLDERS))
    device = find()
    folder = place / "out" / device.slug
    measured, checked = store.read(folder), store.read(folder / "test.jsonl")
    assert device.facts.hash == read_device(folder / "device.json").hash
    assert measured.facts == checked.facts
    assert {"l1_told_bytes", "max_groups_per_unit"} <= set(measured.facts)
    assert {"chase", "lanes", "barriers", "overlap"} <= {run.probe for run in read_probes(folder)}
    assert "overlap.json" not in {path.name for path in folder.iterdir()}  # only what can be recommended is fitted
    assert {"empty", "scale_add", "stride1"} == {row.kernel for row in measured}
    assert {"stencil"} == {row.kernel for row in checked}
    model = load(folder / "stevens_kloeckner_2016.json")
    assert (len(measured), device.name) == (model.fitted.rows, model.device)
    assert f"device that builds and runs a kernel: {device.name} ({device.platform})" in done.stdout
    assert "campaign 'quick' into " in done.stdout.splitlines()[1]
    message = done.stdout.splitlines()[1]
    parts = re.findall(r"(making kernels|probes|measurement kernels|test kernels|samples|fits) (\d+) s", message)
    assert {"probes", "measurement kernels", "test kernels", "samples", "fits"} <= {name for name, _ in parts}
    (minutes,) = re.findall(r"about ([\d.]+) min on", message)
    assert pytest.approx(float(minutes), abs=0.051) == sum(int(seconds) for _, seconds in parts) / 60
    text = (folder / "verdict.txt").read_text()
    assert text.partition("\n\nall families on the same cases")[0] in done.stdout
    assert "verdict: usable neither to time nor to rank" in text  # one test kernel is not enough for more
    again = calibrate("--quick", "--budget", "600", "--out", "out", *FOLDERS, "--json")  # nothing is left to measure
    document = json.loads(again.stdout)
    assert "perfmodel.calibration/1" == document["schema"]
    assert again.stderr.count("measuring: 0 steps") == 2
    assert len(measured) == len(store.read(folder))
    assert document["family"] == json.loads((folder / "recommended.json").read_text())["family"]
    assert (False, False) == (document["verdict"]["to_time"], document["verdict"]["to_rank"])


@pytest.mark.slow
def test_probes_alone_measure_no_kernel_and_print_the_facts(place, monkeypatch):
    monkeypatch.setattr(module, "BRIEF", SHORT)
    result = ran(calibrate("--quick", "--probes", "--out", "out"))
    folder = place / "out" / find().slug
    assert {".lock", "device.json", "measurements.jsonl", "probes.jsonl"} == {path.name for path in folder.iterdir()}
    assert "" == (folder / "measurements.jsonl").read_text()
    assert "assumed: " in result.stdout


def test_quick_and_full_are_one_choice(place):
    assert "--quick and --full were both given" in refused(calibrate("--quick", "--full", "--out", "out"))


def test_the_store_of_another_device_is_left_alone(place):
    device = find()
    folder = Path("out") / device.slug
    folder.mkdir(parents=True)
    document = {**device.facts.to_json(), "platform": "another"}
    (folder / "device.json").write_text(json.dumps(document))
    assert "(another), not of" in refused(calibrate("--quick", "--out", "out"))
    assert {".lock", "device.json", "measurements.jsonl"} >= {path.name for path in folder.iterdir()}


def test_without_out_it_writes_to_the_users_data_folder(place, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    slug = find().slug
    folder = place / "data" / "perfmodel" / slug
    folder.mkdir(parents=True)
    (folder / "measurements.jsonl").write_text('{"schema": "perfmodel.measurement/9"}\n')  # ends it at once
    assert str(folder) in refused(calibrate("--quick"))

"""``perfmodel devices`` and ``doctor``: as programs, on machines that lack something, and all facts of a folder."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from perfmodel import store
from perfmodel.opencl import devices
from perfmodel.store.files import append_probe
from tests.cli.program import invoke, perfmodel, ran
from tests.facts.test_probed import capacity
from tests.shadow import NO_DRIVERS, fake_opencl, shadow
from tests.store.test_files import CPU


@pytest.mark.device
def test_devices_as_json():
    done = perfmodel("devices", "--json")
    document = json.loads(done.stdout)
    assert 0 == done.returncode
    assert "perfmodel.devices/1" == document["schema"]
    expected = [(device.index, device.slug) for device in devices()]
    assert expected == [(row["index"], row["slug"]) for row in document["devices"]]
    assert all(row["facts"]["max_groups_per_unit"]["source"].startswith("assumed") for row in document["devices"])


@pytest.mark.device
def test_devices_as_a_table():
    done = perfmodel("devices")
    assert 0 == done.returncode
    for device in devices():
        assert device.name in done.stdout
        assert str(device.facts.value("max_work_group_size")) in done.stdout
        assert f"device {device.index}: max_groups_per_unit = " in done.stdout
    titan = "not here: NVIDIA TITAN V (--device nvidia-titan-v); others recorded its times: feinsum's archive"
    assert titan in done.stdout


def test_devices_where_there_are_none(tmp_path):
    path = shadow(tmp_path, "pyopencl", NO_DRIVERS)
    done = perfmodel("devices", PYTHONPATH=path)
    assert 2 == done.returncode
    assert "" == done.stdout
    assert done.stderr.startswith("perfmodel: error: no OpenCL device was found; run scripts/setup")
    assert 1 == done.stderr.count("\n")
    done = perfmodel("devices", "--json", PYTHONPATH=path)
    assert [] == json.loads(done.stdout)["devices"]


# An islpy as the plain wheel has it: the real one, whose sets cannot be counted.
PLAIN_ISLPY = """
import sys
here = sys.path.pop(sys.path.index({here!r}))
del sys.modules["islpy"]
import islpy
del islpy.Set.card
sys.path.insert(0, here)
"""


def parts(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    return {part["name"]: part for part in json.loads(done.stdout)["parts"]}


@pytest.mark.device
def test_healthy_machine():
    done = perfmodel("doctor", "--json")
    document = json.loads(done.stdout)
    assert (0, "") == (done.returncode, done.stderr)
    assert ("perfmodel.doctor/1", True) == (document["schema"], document["ok"])
    assert {"name", "found", "status", "message", "repair"} == set(document["parts"][0])
    found = parts(done)
    assert "ok" == found["Barvinok"]["status"]
    assert any(part["message"].startswith("built and ran a kernel in") for part in found.values())
    for library in ("loopy", "islpy", "pymbolic", "pyopencl", "numpy", "scipy"):
        assert ("ok", metadata.version(library)) == (found[library]["status"], found[library]["found"])


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PYTHONPATH of a machine that lacks much: a plain islpy, half a loopy, and no driver."""
    folder = tmp_path_factory.mktemp("broken")
    shadow(folder, "islpy", PLAIN_ISLPY.format(here=str(folder)))
    shadow(folder, "loopy", "raise ImportError('half an installation')")
    return shadow(folder, "pyopencl", NO_DRIVERS)


@pytest.fixture(scope="module")
def document(broken: str) -> subprocess.CompletedProcess[str]:
    return perfmodel("doctor", "--json", PYTHONPATH=broken)


@pytest.mark.device
def test_islpy_reinstalled_on_top_of_barvinok(document):
    part = parts(document)["Barvinok"]
    assert 1 == document.returncode
    assert "wrong" == part["status"]
    assert "islpy was reinstalled on top of islpy-barvinok" in part["message"]
    expected = "-m pip install --force-reinstall --no-deps islpy-barvinok==2025.2.5.post1"
    assert f"{sys.executable} {expected}" == part["repair"]


@pytest.mark.device
def test_library_that_does_not_load(document):
    part = parts(document)["loopy"]
    assert "wrong" == part["status"]
    assert "does not load: ImportError: half an installation" == part["message"]
    assert part["repair"].endswith("-m pip install --force-reinstall --no-deps 'loopy<2026,>=2025.2'")


@pytest.mark.device
def test_no_device(document, broken):
    plain = perfmodel("doctor", PYTHONPATH=broken)
    assert (1, 1) == (document.returncode, plain.returncode)
    assert json.loads(document.stdout)["ok"] is False
    repair = parts(document)["OpenCL"]["repair"]
    assert "apt-get install pocl-opencl-icd" in repair
    lines = plain.stdout.splitlines()
    assert lines[0].startswith("Python ")
    assert any(line.startswith(f"{'numpy':<18}{metadata.version('numpy')} ok") for line in lines)
    assert any(line.startswith("OpenCL ") and line.endswith(f"repair it with: {repair}") for line in lines)


@pytest.mark.device
def test_a_driver_that_crashes_is_a_line_and_not_a_crash(tmp_path):
    crashing = fake_opencl("import os; os.abort()")
    done = perfmodel("doctor", "--json", PYTHONPATH=shadow(tmp_path, "pyopencl", crashing))
    part = parts(done)["OpenCL"]
    assert 1 == done.returncode
    assert "wrong" == part["status"]
    assert "SIGABRT" in part["message"]


@pytest.fixture
def folder(tmp_path):
    store.prepare(tmp_path, CPU)
    append_probe(tmp_path, capacity())
    return tmp_path


def test_a_table_and_a_document_with_what_is_reported_measured_and_assumed(folder):
    result = ran(invoke("devices", "--from", folder))
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert "CL_DEVICE_TYPE" in rows["device_type"]
    assert "48 KiB" in rows["l1_bytes"]
    assert "measured, pointer chase" in rows["l1_bytes"]
    assert "assumed: a core of a CPU runs one work-group at a time" in rows["max_groups_per_unit"]
    document = json.loads(invoke("devices", "--from", folder, "--json").stdout)
    assert ("perfmodel.facts/1", "a device") == (document["schema"], document["name"])
    assert {"value": 49152, "unit": "B"}.items() <= document["facts"]["l1_bytes"].items()


def test_bad_input_is_answered_in_one_line(folder, tmp_path):
    result = invoke("devices", "--from", tmp_path / "none")
    assert (2, 1) == (result.exit_code, len(result.stderr.splitlines()))
    assert "no measurements at" in result.stderr
    (folder / "device.json").unlink()
    assert "give a folder with a device.json" in invoke("devices", "--from", folder).stderr

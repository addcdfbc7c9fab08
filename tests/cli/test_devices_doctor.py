"""The doctor on a healthy machine and on ones that lack something."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import pytest

from tests.cli.program import perfmodel
from tests.shadow import NO_DRIVERS, fake_opencl, shadow

pytestmark = pytest.mark.device

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


def test_islpy_reinstalled_on_top_of_barvinok(document):
    part = parts(document)["Barvinok"]
    assert 1 == document.returncode
    assert "wrong" == part["status"]
    assert "islpy was reinstalled on top of islpy-barvinok" in part["message"]
    expected = "-m pip install --force-reinstall --no-deps islpy-barvinok==2025.2.5.post1"
    assert f"{sys.executable} {expected}" == part["repair"]


def test_library_that_does_not_load(document):
    part = parts(document)["loopy"]
    assert "wrong" == part["status"]
    assert "does not load: ImportError: half an installation" == part["message"]
    assert part["repair"].endswith("-m pip install --force-reinstall --no-deps 'loopy<2026,>=2025.2'")


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


def test_a_driver_that_crashes_is_a_line_and_not_a_crash(tmp_path):
    crashing = fake_opencl("import os; os.abort()")
    done = perfmodel("doctor", "--json", PYTHONPATH=shadow(tmp_path, "pyopencl", crashing))
    part = parts(done)["OpenCL"]
    assert 1 == done.returncode
    assert "wrong" == part["status"]
    assert "SIGABRT" in part["message"]

"""The doctor on a healthy machine and on ones that lack something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest

from perfmodel.calibration import installation
from perfmodel.counts.points import barvinok
from tests.shadow import NO_DRIVERS, ROOT, fake_opencl, shadow

pytestmark = pytest.mark.device

RUN = "import sys; from perfmodel.cli import main; sys.argv[0] = 'perfmodel'; main()"

# An islpy as the plain wheel has it: the real one, whose sets cannot be counted.
PLAIN_ISLPY = """
import sys
here = sys.path.pop(sys.path.index({here!r}))
del sys.modules["islpy"]
import islpy
del islpy.Set.card
sys.path.insert(0, here)
"""


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, "doctor", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def parts(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    return {part["name"]: part for part in json.loads(done.stdout)["parts"]}


@pytest.fixture
def pinned(monkeypatch):
    """Let the installed versions and requirements be what a test says."""

    def pin(required: str, installed: str | None) -> None:
        def version(name: str) -> str:
            if installed is None:
                raise metadata.PackageNotFoundError(name)
            return installed

        monkeypatch.setattr(metadata, "requires", lambda name: [required, "pytest; extra == 'test'"])
        monkeypatch.setattr(metadata, "version", version)

    return pin


def test_healthy_machine():
    done = doctor()
    assert 0 == done.returncode, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Python ")
    assert any(line.startswith("Barvinok ") and " ok " in line for line in lines)
    assert any(line.startswith("device ") and "built and ran a kernel in" in line for line in lines)
    for library in ("loopy", "islpy", "pymbolic", "pyopencl", "numpy", "scipy"):
        assert any(line.startswith(f"{library} ") and metadata.version(library) in line for line in lines)


def test_json_is_one_document_and_nothing_else():
    done = doctor("--json")
    document = json.loads(done.stdout)
    assert "" == done.stderr
    assert "perfmodel.doctor/1" == document["schema"]
    assert document["ok"] is True
    assert {"name", "found", "status", "message", "mend"} == set(document["parts"][0])


def test_islpy_reinstalled_on_top_of_barvinok(tmp_path):
    path = shadow(tmp_path, "islpy", PLAIN_ISLPY.format(here=str(tmp_path)))
    done = doctor("--json", PYTHONPATH=path)
    part = parts(done)["Barvinok"]
    assert 1 == done.returncode
    assert "wrong" == part["status"]
    assert "islpy was reinstalled on top of islpy-barvinok" in part["message"]
    expected = "-m pip install --force-reinstall --no-deps islpy-barvinok==2025.2.5.post1"
    assert f"{sys.executable} {expected}" == part["mend"]
    plain = doctor(PYTHONPATH=path)
    assert 1 == plain.returncode
    assert any(
        line.startswith("Barvinok ") and line.endswith(f"mend it with: {part['mend']}")
        for line in plain.stdout.splitlines()
    )


def test_barvinok_never_installed(monkeypatch):
    monkeypatch.setattr(barvinok, "has_barvinok", lambda: False)
    monkeypatch.setattr(barvinok, "is_overwritten", lambda: False)
    part = installation.barvinok_part()
    assert "note" == part.status
    assert "is not installed" in part.message
    assert barvinok.MENDING_COMMAND == part.mend


def test_a_card_that_miscounts_is_not_barvinok(monkeypatch):
    monkeypatch.setattr(barvinok.isl.Set, "card", lambda self: None)
    assert not barvinok.has_barvinok()
    assert barvinok.is_overwritten()


def test_library_that_does_not_load(tmp_path):
    path = shadow(tmp_path, "loopy", "raise ImportError('half an installation')")
    done = doctor("--json", PYTHONPATH=path)
    part = parts(done)["loopy"]
    assert 1 == done.returncode
    assert "wrong" == part["status"]
    assert "does not load: ImportError: half an installation" == part["message"]
    assert part["mend"].endswith("-m pip install --force-reinstall --no-deps 'loopy==2025.2'")


@pytest.mark.parametrize(
    ("required", "installed", "message"),
    [
        ("islpy==2025.2.5", "2026.2.2", "is not the version that works, ==2025.2.5"),
        ("numpy>=2.0", "1.26.4", "is not the version that works, >=2.0"),
        ("scipy>=1.13", None, "is not installed, >=1.13 is needed"),
    ],
)
def test_wrong_and_missing_libraries(pinned, required, installed, message):
    pinned(required, installed)
    (part,) = installation.library_parts()
    assert "wrong" == part.status
    assert message == part.message
    assert f"{sys.executable} -m pip install '{required}'" == part.mend


def test_unsuitable_python(monkeypatch):
    monkeypatch.setattr(installation.platform, "python_version", lambda: "3.14.1")
    part = installation.python_part()
    assert "wrong" == part.status
    assert "3.14.1" == part.found
    assert "<3.14" in part.message
    assert "scripts/setup" in part.mend


def test_no_device(tmp_path):
    done = doctor("--json", PYTHONPATH=shadow(tmp_path, "pyopencl", NO_DRIVERS))
    assert 1 == done.returncode
    assert json.loads(done.stdout)["ok"] is False
    assert "apt-get install pocl-opencl-icd" in parts(done)["OpenCL"]["mend"]


def test_a_driver_that_crashes_is_a_line_and_not_a_crash(tmp_path):
    crashing = fake_opencl("import os; os.abort()")
    done = doctor("--json", PYTHONPATH=shadow(tmp_path, "pyopencl", crashing))
    part = parts(done)["OpenCL"]
    assert 1 == done.returncode
    assert "wrong" == part["status"]
    assert "SIGABRT" in part["message"]


def test_a_card_that_the_loader_does_not_know(monkeypatch, tmp_path):
    (tmp_path / "card").touch()
    cards = ((str(tmp_path / "card"), "nvidia", "mend it so"), (str(tmp_path / "none"), "amd", "mend"))
    monkeypatch.setattr(installation, "_CARDS", cards)
    (part,) = installation._hidden_cards(("Portable Computing Language",))
    assert ("OpenCL", "NVIDIA card", "note") == (part.name, part.found, part.status)
    assert part.mend.startswith("mend it so")
    assert () == tuple(installation._hidden_cards(("Portable Computing Language", "NVIDIA CUDA")))

"""Parts of an installation that are missing, wrong or unknown to the loader."""

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from perfmodel import libraries
from perfmodel.calibration import installation
from perfmodel.errors import WeightsError
from perfmodel.facts import DeviceFacts, Fact


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


@pytest.mark.parametrize(("required", "installed", "message"), [
    ("islpy<2026.2,>=2025.2.5", "2024.2", "lies outside the range that works, <2026.2,>=2025.2.5"),
    ("islpy<2026.2,>=2025.2.5", "2026.2.2",
     "lies outside the range of the released Loopy, <2026.2,>=2025.2.5; only Loopy's main branch works with it"),
    ("loopy<2026,>=2025.2", "2024.1", "lies outside the range that works, <2026,>=2025.2"),
    ("numpy>=2.0", "1.26.4", "lies outside the range that works, >=2.0"),
    ("scipy>=1.13", None, "is not installed, >=1.13 is needed"),
])  # fmt: skip
def test_wrong_and_missing_libraries(pinned, required, installed, message):
    pinned(required, installed)
    (part,) = installation.library_parts()
    assert "wrong" == part.status
    assert message == part.message
    assert f"{sys.executable} -m pip install '{required}'" == part.repair


@pytest.mark.parametrize(("needs", "islpy", "said", "which"), [
    ("numpy", "2025.2.5", "ok", "as released"), ("numpy", "2026.2.2", "wrong", "as released"),
    ("namedisl>=2026.1.1", "2025.2.5", "ok", "its main branch"),
    ("namedisl>=2026.1.1", "2026.2.2", "ok", "its main branch"),
    ("namedisl>=2026.1.1", "2027.1", "wrong", "its main branch"),
])  # fmt: skip
def test_which_loopy_it_is_and_the_versions_of_islpy_that_work_with_it(monkeypatch, needs, islpy, said, which):
    """Both are called 2025.2; the one of the main branch requires namedisl."""
    required = {"perfmodel": ["islpy<2026.2,>=2025.2.5", "loopy<2026,>=2025.2"], "loopy": [needs]}
    versions = {"islpy": islpy, "loopy": "2025.2", "islpy-barvinok": islpy}
    monkeypatch.setattr(metadata, "requires", required.__getitem__)
    monkeypatch.setattr(metadata, "version", versions.__getitem__)
    monkeypatch.setattr(libraries, "BARVINOK", "islpy-barvinok==2025.2.5.post1")
    monkeypatch.setattr(installation, "_import_failure", lambda name: "")
    parts = {part.name: part for part in installation.library_parts()}
    assert (said, "ok") == (parts["islpy"].status, parts["loopy"].status)
    assert which in parts["loopy"].message
    assert parts["loopy"].found == ("2025.2" if which == "as released" else "2025.2+main")
    if islpy == "2026.2.2":
        assert (said == "wrong") is (installation.barvinok_part().status == "wrong")


def test_unsuitable_python(monkeypatch):
    monkeypatch.setattr(installation.platform, "python_version", lambda: "3.14.1")
    part = installation.python_part()
    assert "wrong" == part.status
    assert "3.14.1" == part.found
    assert "<3.14" in part.message
    assert "scripts/setup" in part.repair


def test_a_card_that_the_loader_does_not_know_and_a_runtime_that_other_drivers_hide_are_named(monkeypatch, tmp_path):
    (tmp_path / "card").touch()
    cards = ((str(tmp_path / "card"), "nvidia", "n.icd", "n.so"), (str(tmp_path / "none"), "amd", "a.icd", "a.so"))
    monkeypatch.setattr(installation, "_CARDS", cards)
    monkeypatch.setattr("perfmodel.opencl.device.INTEL", tmp_path / "none")
    (part,) = installation._hidden_cards(("Portable Computing Language",))
    assert ("OpenCL", "NVIDIA card", "note") == (part.name, part.found, part.status)
    assert "echo n.so > /etc/OpenCL/vendors/n.icd (docs" in part.repair
    assert () == tuple(installation._hidden_cards(("Portable Computing Language", "NVIDIA CUDA")))
    # who installs the extra `cpu` beside a system's PoCL finds one device, and no word of the other
    monkeypatch.setattr("perfmodel.opencl.device.INTEL", tmp_path / "libintelocl.so")
    monkeypatch.setattr(installation, "_CARDS", ())
    assert [] == list(installation._hidden_cards(("Portable Computing Language",)))
    (tmp_path / "libintelocl.so").touch()
    (part,) = installation._hidden_cards(("Portable Computing Language",))
    assert ("note", f"export OCL_ICD_VENDORS={tmp_path / 'libintelocl.so'}") == (part.status, part.repair)
    assert [] == list(installation._hidden_cards(("Intel(R) OpenCL",)))


def test_facts_of_a_device_that_contradict_each_other(monkeypatch):
    facts = {
        "last_level_bytes": Fact(2**25, "B", "measured, all units read again"),
        "l3_bytes": Fact(3 * 2**20, "B", "measured, pointer chase"),
    }
    known = SimpleNamespace(facts=DeviceFacts.from_mapping("a device", "a platform", "1", facts))
    monkeypatch.setattr("perfmodel.calibration.recommended.load", lambda device: known)
    (part,) = installation.fact_parts(1)
    assert (installation.NOTE, "the last-level cache") == (part.status, part.found)
    for said in ("a stream measures 32 MiB", "a pointer chase measures 3 MiB", "32 MiB is assumed, because"):
        assert said in part.message
    assert "perfmodel calibrate --probes --device 1, on a quiet machine" == part.repair
    known.facts = None
    assert () == tuple(installation.fact_parts(1))

    def lost(device):
        raise WeightsError("there are none")

    monkeypatch.setattr("perfmodel.calibration.recommended.load", lost)
    assert () == tuple(installation.fact_parts(1))

"""Folders of devices: which are found, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfmodel.errors import ForeignDeviceError, OptionError, StoreMissingError
from perfmodel.fitting import device_folder
from perfmodel.fitting.device_folder import measured_folder, measured_folders
from perfmodel.store import read

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("pocl-one", "pocl-two", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.jsonl").touch()
    (tmp_path / "not-measured").mkdir()
    return tmp_path


@pytest.mark.parametrize(("wanted", "expected"), [
    ((), ["other", "pocl-one", "pocl-two"]),
    (("pocl",), ["pocl-one", "pocl-two"]),
    (("TWO", "other"), ["other", "pocl-two"]),
    (("pocl", "one"), ["pocl-one", "pocl-two"]),  # none comes twice
])  # fmt: skip
def test_folders_by_parts_of_their_names(root: Path, wanted: tuple[str, ...], expected: list[str]) -> None:
    assert [root / name for name in expected] == measured_folders(root, wanted)


def test_a_device_that_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"matches 'gpu' \(there are: other, pocl-one, pocl-two\)"):
        measured_folders(root, ("pocl", "gpu"))
    with pytest.raises(OptionError, match=r"there are: none"):
        measured_folders(tmp_path / "nowhere")


def test_both_kinds_of_kernels_with_the_same_facts() -> None:
    measured, tests = measured_folder(DATA)
    assert "nbody" in {row.kernel for row in tests.rows}
    assert "nbody" not in {row.kernel for row in measured.rows}
    assert measured.facts is not None
    assert measured.facts == tests.facts
    plain, _ = measured_folder(DATA, measured_facts=False)
    assert read(DATA).facts == plain.facts
    assert plain.rows == measured.rows


def test_test_kernels_of_another_device(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(DATA, folder)
    text = (folder / "test.jsonl").read_text()
    (folder / "test.jsonl").write_text(text.replace('"device": "', '"device": "another '))
    with pytest.raises(ForeignDeviceError, match="another"):
        measured_folder(folder)
    (folder / "test.jsonl").unlink()
    with pytest.raises(StoreMissingError):
        device_folder.tests_of(folder, read(folder))

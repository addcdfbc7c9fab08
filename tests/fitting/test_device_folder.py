"""Folders of devices: which are found, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.errors import OptionError, StoreError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import device_folder
from perfmodel.fitting.device_folder import is_simulated, measured_folder, measured_folders, recorded_folder
from perfmodel.store import read
from tests.recorded import QUICKSTART


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


def test_a_simulated_device_is_apart(root: Path) -> None:
    simulated = root / "toy-sim"
    simulated.mkdir()
    (simulated / "test.jsonl").touch()
    (simulated / "facts.yaml").write_text('facts:\n  simulated: {value: 1, unit: "", source: "made up"}\n')
    assert [root / name for name in ("other", "pocl-one", "pocl-two")] == measured_folders(root)
    assert [simulated] == measured_folders(root, ("sim",))
    assert (True, False) == (is_simulated(simulated), is_simulated(root / "other"))
    device_folder.refuse_mixture([simulated, simulated])
    with pytest.raises(OptionError, match=r"toy-sim', whose times are simulated.*evaluate it by itself"):
        device_folder.refuse_mixture([root / "other", simulated])


def test_a_device_that_others_recorded_is_apart(root: Path) -> None:
    (root / "toy-rec").mkdir()
    facts = DeviceFacts("Toy", "P", "1", (("recorded", Fact(1, "", "an archive")),))
    (root / "toy-rec" / "device.json").write_text(json.dumps(facts.to_json()))
    (root / "other" / "device.json").write_text(json.dumps(replace(facts, facts=()).to_json()))
    assert [root / name for name in ("other", "pocl-one", "pocl-two")] == measured_folders(root)
    assert [root / "toy-rec"] == measured_folders(root, ("rec",)) == device_folder.recorded_folders(root)


def test_a_device_that_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"matches 'gpu' \(there are: other, pocl-one, pocl-two\)"):
        measured_folders(root, ("pocl", "gpu"))
    with pytest.raises(OptionError, match=r"there are: none"):
        measured_folders(tmp_path / "nowhere")


def test_both_kinds_of_kernels_with_the_same_facts() -> None:
    measured, tests = measured_folder(QUICKSTART)
    assert "nbody" in {row.kernel for row in tests.rows}
    assert "nbody" not in {row.kernel for row in measured.rows}
    assert measured.facts is not None
    assert measured.facts == tests.facts
    plain, *_ = recorded_folder(QUICKSTART)
    assert read(QUICKSTART).facts == plain.facts
    assert plain.rows == measured.rows


def test_test_kernels_of_another_device(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(QUICKSTART, folder)
    text = (folder / "test.jsonl").read_text()
    (folder / "test.jsonl").write_text(text.replace('"device": "', '"device": "another '))
    with pytest.raises(StoreError, match="another"):
        measured_folder(folder)
    with pytest.raises(StoreError, match="another"):
        recorded_folder(folder)


def test_facts_that_are_given_replace_what_is_known() -> None:
    given = {"compute_units": Fact(7, "", "a guess")}
    measured, tests, _ = recorded_folder(QUICKSTART, given)
    assert tests is not None
    row = measured.rows[0]
    assert DeviceFacts.from_mapping(row.device, row.platform, row.driver, given) == measured.facts == tests.facts
    clock = {"clock_mhz": Fact(900, "MHz", "told")}
    caught = DeviceFacts.from_mapping("it", "", "", {**clock, "compute_units": Fact(2, "", "told")})
    known = read(QUICKSTART).with_facts(caught)
    replaced = device_folder.with_given_facts(known, given)
    assert DeviceFacts.from_mapping("it", "", "", {**clock, **given}) == replaced.facts
    assert known is device_folder.with_given_facts(known, {}) is device_folder.with_given_facts(known, None)


def test_a_folder_without_test_kernels(tmp_path: Path) -> None:
    for name in ("measurements.jsonl", "counts.jsonl"):
        shutil.copy(QUICKSTART / name, tmp_path)
    measured, tests, samples = recorded_folder(tmp_path)
    assert (len(tuple(read(QUICKSTART))), None, None) == (len(tuple(measured)), tests, samples)
    with pytest.raises(StoreError, match=r"no measurements at '.*test\.jsonl'"):
        measured_folder(tmp_path)
    assert recorded_folder(QUICKSTART)[1] is not None

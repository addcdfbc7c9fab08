"""Which weights of a folder are taken."""

from __future__ import annotations

import json
import shutil

import pytest

from perfmodel.calibration.recommended import folder_weights
from perfmodel.errors import OptionError, StoreError, UnknownNameError, WeightsError
from tests.recorded import SIMULATED


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "measurements.jsonl").touch()
    for name in ("work_depth", "stevens_kloeckner_2016", "multithreaded"):
        shutil.copy(SIMULATED / f"{name}.json", tmp_path)
    return tmp_path


def test_the_one_that_is_asked_for(folder):
    assert folder / "work_depth.json" == folder_weights(folder, "work_depth")


def test_else_the_recommended_one(folder):
    assert folder / "multithreaded.json" == folder_weights(folder)
    document = {"schema": "perfmodel.recommended/1", "family": "work_depth", "candidates": []}
    (folder / "recommended.json").write_text(json.dumps(document))
    assert folder / "work_depth.json" == folder_weights(folder)


def test_else_the_first_by_name(folder):
    for name in ("stevens_kloeckner_2016", "multithreaded"):
        (folder / f"{name}.json").unlink()
    shutil.copy(SIMULATED / "roofline.json", folder)
    assert folder / "roofline.json" == folder_weights(folder)


def test_what_is_not_there_is_named(folder, tmp_path_factory):
    with pytest.raises(OptionError, match="no weights of the family 'roofline'; choose one of multithreaded, "):
        folder_weights(folder, "roofline")
    with pytest.raises(UnknownNameError):
        folder_weights(folder, "nothing")
    (folder / "recommended.json").write_text("{}")
    with pytest.raises(WeightsError):
        folder_weights(folder)
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(StoreError):
        folder_weights(empty)
    (empty / "measurements.jsonl").touch()
    with pytest.raises(OptionError, match="holds no weights; fit some: perfmodel fit --all --from"):
        folder_weights(empty)

"""Weights files that are refused."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from perfmodel.errors import UnknownFamilyError, WeightsDeviceError, WeightsFileError
from perfmodel.fitting import fit_weights, read_weights
from perfmodel.fitting.weights_file import FittedWeight
from perfmodel.models.model import Family, Weight
from perfmodel.predicting.model import fit, load
from tests.fitting.test_family_fits_weights import measurements
from tests.recorded import POCL


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "w.json"
    fit_weights(measurements(), "stevens_kloeckner_2016").save(target)
    return target


SCORES = {"scores": [0.1], "groups": ["a"]}
LOCAL = {"constant": 0.0, "lack": 0.5, "private": 1.0, "weights": {}}


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_quantity_that_a_family_got_since_the_fit_was_never_measured(tmp_path):
    path = tmp_path / "w.json"
    shutil.copy(POCL / "bottleneck.json", path)

    def older(document):
        del document["weights"]["w_varied_entries"]
        document["features"].remove("w_varied_entries")

    rewrite(path, older)
    new = read_weights(path).weights["w_varied_entries"]
    assert (0.0, "s/operation", ("undetermined",)) == (new.value, new.unit, new.marks)


def test_another_device(path):
    assert "stand-in" == read_weights(path, device="stand-in").device
    with pytest.raises(WeightsDeviceError) as caught:
        read_weights(path, device="Fury")
    assert (str(path), "stand-in", "Fury") == (
        caught.value.path, caught.value.found, caught.value.wanted,
    )  # fmt: skip


def test_the_old_schema_is_named_with_what_to_do(path):
    rewrite(path, lambda document: document.update(schema="perfmodel.weights/1"))
    with pytest.raises(WeightsFileError, match="perfmodel fit --from"):
        read_weights(path)


def renamed(document):
    document["weights"]["launch"] = document["weights"].pop("launches")


def extra(document):
    document["weights"]["op_float32_mul"] = document["weights"]["op_float32_add"]


def both(name):
    def change(document):
        document["features"].append(name)
        document["weights"][name] = document["weights"]["op_float32_add"]

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda document: document["weights"].pop("launches"), "lacks launches"),
        (extra, "has op_float32_mul, which its own list of features does not"),
        (renamed, "lacks launches and has launch,"),
        (both("op_float32_ad"), "'op_float32_ad', no weight of"),
        (both("global_load_7"), "'global_load_7', which is no feature"),
        (lambda document: document["weights"]["launches"].update(unit="s/year"), "in s/year, not s/launch"),
        (lambda document: document["weights"]["launches"].update(marks=["odd"]), "weights.launches.marks"),
        (lambda document: document["weights"]["launches"].update(value="1e-9"), "weights.launches.value"),
        (lambda document: document["weights"]["launches"].update(standard_error=-1.0), "launches.standard_error"),
        (lambda document: document.update(subgroup_size=0), "field 'subgroup_size'"),
        (lambda document: document.update(subgroup_size=2**20), "field 'subgroup_size'"),
        (lambda document: document.pop("subgroup_size"), "field 'subgroup_size': Field required"),
        (lambda document: document.update(conformal={"scores": [0.1], "groups": []}), "1 scores and 0 groups"),
        (lambda document: document.update(conformal={**SCORES, "scale": LOCAL}), "predictions without scales of rows"),
        (
            lambda document: document.update(conformal={**SCORES, "scales": [1.0, 2.0], "scale": LOCAL}),
            "1 scores and 2 scales; each score has one",
        ),
        (
            lambda document: document.update(conformal={**SCORES, "scales": [0.0], "scale": LOCAL}),
            "conformal.scales.0': Input should be greater than 0",
        ),
        (
            lambda document: document.update(conformal={**SCORES, "scales": [1], "scale": {**LOCAL, "lack": "much"}}),
            "conformal.scale.lack",
        ),
        (lambda document: document.update(measured={"seconds": [2.0, 1.0], "features": {}}), "from 2.0 to 1.0"),
        (lambda document: document.update(facts={"name": "x"}), "facts of a device that cannot be used: it has no"),
        (lambda document: document.update(schema="perfmodel.weights/9"), "'perfmodel.weights/2'; update perfmodel"),
    ],
)  # fmt: skip
def test_files_that_are_not_right(path, change, problem):
    rewrite(path, change)
    with pytest.raises(WeightsFileError) as caught:
        read_weights(path)
    assert problem in caught.value.problem
    assert str(path) == caught.value.path


def test_a_weight_outside_of_its_bounds(tmp_path):
    path = tmp_path / "w.json"
    bounded = Family("toy", "", ("launches",), weights=(Weight("w_a", "s", upper=2.0),), expression="total + w_a")
    found = fit_weights(measurements(), "stevens_kloeckner_2016")
    launches = found.weights["launches"]
    for value, problem in ((1.0, ""), (2.5, "'w_a' = 2.5, not from 0.0 to 2.0")):
        weights = {"launches": launches, "w_a": FittedWeight(value=value, unit="s")}
        found.model_copy(update={"family": "toy", "weights": weights, "features": tuple(weights)}).save(path)
        if not problem:
            assert weights == read_weights(path, family=bounded).weights
            continue
        with pytest.raises(WeightsFileError, match=re.escape(problem)):
            read_weights(path, family=bounded)


@pytest.mark.parametrize("text", ['{"a": ' * 5000, '{"a": 1, "a": 1}', '{"a": NaN}', '{"a": 1e999}', "9" * 5000])
def test_a_file_that_has_no_meaning_or_is_too_much(tmp_path, text):
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(WeightsFileError) as caught:
        read_weights(path)
    assert len(str(caught.value)) < 400


def changed(document: dict, **changes: object) -> dict:
    return {**document, **changes}


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("schema", {"schema": "perfmodel.weights/9"}),
        ("weights.launches.value", {"weights": {"launches": {"value": "x", "unit": "s/launch"}}}),
        ("device", {"device": None}),
        ("extra", {"extra": 1}),
    ],
)
def test_a_file_that_is_not_right_is_refused(tmp_path, part, change):
    path = tmp_path / "w.json"
    fit(measurements()).save(path)
    path.write_text(json.dumps(changed(json.loads(path.read_text()), **change)))
    with pytest.raises(WeightsFileError) as caught:
        read_weights(path)
    assert str(path) == caught.value.path
    assert part in caught.value.problem


def test_a_file_that_is_no_json_or_is_not_there(tmp_path):
    with pytest.raises(WeightsFileError, match="cannot be read"):
        load(tmp_path / "none.json")
    (tmp_path / "w.json").write_text("{")
    with pytest.raises(WeightsFileError, match="is not valid JSON"):
        load(tmp_path / "w.json")


def test_a_family_that_does_not_exist_in_the_file(tmp_path):
    path = tmp_path / "w.json"
    fit(measurements()).save(path)
    path.write_text(path.read_text().replace("stevens_kloeckner_2016", "gone"))
    with pytest.raises(UnknownFamilyError):
        load(path)

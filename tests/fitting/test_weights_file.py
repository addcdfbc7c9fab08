"""Planted weights that a fit recovers, weights files, errors of predictions, and files that are refused."""

import json
import math
import re

import pytest

from perfmodel.errors import WeightsError
from perfmodel.fitting import FitOptions, fit_weights, read_weights
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.design import rows_hash
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.weights_file import FittedWeight, geometric_mean_error, relative_errors
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.predicting.model import fit, load
from tests.standins import Access, Counts, Operation, Row, Rows, count

ONE = count("1", "")
PLANTED = {
    "global_load_32_stride1": 4e-10, "launches": 1.5e-5, "local_load_32": -3e-11, "op_float32_add": 2e-11,
    "work_groups": 6e-8,
}  # fmt: skip
KERNELS = {
    "empty": Counts(group_count=count("n")),
    "add": Counts(
        operation_table=(Operation("float32", "add", count("1000*n^2")), Operation("int32", "add", count("n^3"))),
        group_count=count("n"),
    ),
    "load": Counts(access_table=(Access("global", "load", "a", ONE, count("100*n^2")),), group_count=count("n")),
    "tile": Counts(
        access_table=(
            Access("global", "load", "a", ONE, count("100*n^2")), Access("local", "load", "t", ONE, count("900*n^2")),
            Access("local", "store", "t", ONE, count("100*n^2")),
        ),
        group_count=count("n"),
    ),
}  # fmt: skip
SIZES = (16, 64, 256, 1024)


def seconds(kernel: str, n: int) -> float:
    time = PLANTED["launches"] + n * PLANTED["work_groups"]
    if kernel == "add":
        time += 1000 * n**2 * PLANTED["op_float32_add"]
    if kernel in ("load", "tile"):
        time += 100 * n**2 * PLANTED["global_load_32_stride1"]
    if kernel == "tile":
        time += 900 * n**2 * PLANTED["local_load_32"]
    return time


def measurements() -> Rows:
    rows = tuple(Row(k, {"n": n}, seconds(k, n), k) for k in KERNELS for n in SIZES)
    return Rows(rows, KERNELS)


def test_planted_weights_are_recovered_with_their_units():
    model = fit(measurements())
    assert list(PLANTED) == list(model.weights)
    for name, weight in PLANTED.items():
        assert pytest.approx(weight, rel=1e-8) == model.weights[name]
    assert "s/access" == model.units["local_load_32"]
    assert "s/launch" == model.units["launches"]
    assert "stand-in" == model.device
    assert 16 == model.fitted.subgroup_size
    assert len(KERNELS) * len(SIZES) == model.fitted.rows
    assert 1e-3 == pytest.approx(model.fitted.residuals.geometric_mean)  # the floor
    assert model.fitted.residuals.largest < 1e-9
    assert () == model.notes


def test_confounded_features_are_named():
    rows = Rows(tuple(row for row in measurements().rows if row.kernel != "load"), KERNELS)
    notes = fit(rows).notes
    assert 1 == len(notes)
    assert "global_load_32_stride1, local_load_32" in notes[0]


def test_nonnegative_weights():
    model = fit(measurements(), nonnegative=True)
    assert 0 == model.weights["local_load_32"]
    assert min(model.weights.values()) >= 0
    assert model.fitted.options.nonnegative


def test_the_file_holds_weights_and_scatter_to_the_last_bit(tmp_path):
    model = fit(measurements())
    path = tmp_path / "device" / "stevens_kloeckner_2016.json"
    model.save(path)
    assert model == load(path)
    assert [path] == list(path.parent.iterdir())
    document = json.loads(path.read_text())
    assert "perfmodel.weights/2" == document["schema"]
    assert list(PLANTED) == document["features"]
    assert {"value", "unit", "standard_error", "marks"} == set(document["weights"]["launches"])
    scatter = Scatter(deviation=1 / 3, freedom=2, cells=7)
    errors = Anchored(conformal=Conformal(scores=(0.1,), groups=("g",)), scatter=scatter)
    fitted = model.fitted.model_copy(update={"scatter": scatter, "anchored": errors})
    fitted.save(path)
    assert fitted == read_weights(path)


FAMILY = "stevens_kloeckner_2016"


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "w.json"
    fit_weights(measurements(), FAMILY).save(target)
    return target


def test_a_file_says_how_it_was_made(path):
    found = read_weights(path)
    assert FitOptions() == found.options
    assert rows_hash(measurements()) == found.measurements
    assert re.fullmatch("[0-9a-f]{64}", found.measurements)
    assert len(PLANTED) == found.rank
    assert len(KERNELS) * len(SIZES) - len(PLANTED) == pytest.approx(found.degrees_of_freedom)
    assert found.converged
    assert tuple(PLANTED) == found.features
    for weight in found.weights.values():
        assert 0 <= weight.standard_error < 1e-9 * abs(weight.value)
        assert () == weight.marks


def test_errors_are_relative_to_the_measured_time_and_have_a_geometric_mean():
    assert [0.5, 0.25, 2.0, 1.0] == relative_errors([1.5, 3.0, -1.0, 0.0], [1.0, 4.0, 1.0, 7.0]).tolist()
    assert 0.5 == float(relative_errors(3.0, 2.0))
    assert pytest.approx(0.2) == geometric_mean_error([0.1, 0.4])
    assert pytest.approx((0.5 * 0.25 * 2) ** (1 / 3)) == geometric_mean_error([0.5, 0.25, 2.0])
    assert pytest.approx(math.sqrt(1e-3 * 0.1)) == geometric_mean_error([0.0, 0.1])  # 0.1 % at least
    assert math.isnan(geometric_mean_error([]))
    assert math.inf == geometric_mean_error([0.1, math.inf])


SCORES = {"scores": [0.1], "groups": ["a"]}
LOCAL = {"constant": 0.0, "lack": 0.5, "private": 1.0, "weights": {}}


def both(name):
    def change(document):
        document["features"].append(name)
        document["weights"][name] = document["weights"]["op_float32_add"]

    return change


@pytest.mark.parametrize(("change", "problem"), [
    (lambda document: document["weights"].pop("launches"), "lacks launches"),
    (lambda document: document["weights"].update(op_float32_mul=document["weights"]["op_float32_add"]),
     "has op_float32_mul, which is not in its own list of features"),
    (lambda document: document["weights"].update(launch=document["weights"].pop("launches")),
     "lacks launches and has launch,"),
    (both("op_float32_ad"), "'op_float32_ad' which is not a weight of"),
    (both("global_load_7"), "'global_load_7' which is not a feature"),
    (lambda document: document["weights"]["launches"].update(unit="s/year"), "in s/year, not s/launch"),
    (lambda document: document["weights"]["launches"].update(marks=["odd"]), "weights.launches.marks"),
    (lambda document: document["weights"]["launches"].update(value="1e-9"), "weights.launches.value"),
    (lambda document: document.update(subgroup_size=0), "field 'subgroup_size'"),
    (lambda document: document.update(conformal={"scores": [0.1], "groups": []}), "1 scores and 0 groups"),
    (lambda document: document.update(conformal={**SCORES, "scale": LOCAL}), "predictions without scales of rows"),
    (lambda document: document.update(conformal={**SCORES, "scales": [1.0, 2.0], "scale": LOCAL}),
     "1 scores and 2 scales; each score has one"),
    (lambda document: document.update(scatter={"deviation": -1.0, "cells": 1}), "scatter.deviation"),
    (lambda document: document.update(measured={"seconds": [2.0, 1.0], "features": {}}), "from 2.0 to 1.0"),
    (lambda document: document.update(facts={"name": "x"}), "facts of a device that cannot be used: "),
    (lambda document: document.update(schema="perfmodel.weights/9"), "'perfmodel.weights/2'; update perfmodel"),
])  # fmt: skip
def test_files_that_are_refused(path, change, problem):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(WeightsError) as caught:
        read_weights(path)
    assert problem in str(caught.value)
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
        with pytest.raises(WeightsError, match=re.escape(problem)):
            read_weights(path, family=bounded)


def test_a_missing_file(tmp_path):
    with pytest.raises(WeightsError, match="cannot be read"):
        load(tmp_path / "none.json")
    (tmp_path / "w.json").write_text("{")
    with pytest.raises(WeightsError, match="is not valid JSON"):
        load(tmp_path / "w.json")

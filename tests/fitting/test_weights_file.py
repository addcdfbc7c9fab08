"""Weights files: their content, errors of predictions, and files that are refused."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from perfmodel.errors import FactsError, UnknownNameError, WeightsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FitOptions, build_design, fit_to_design, fit_weights, read_weights
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.design import rows_hash
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.weights_file import LEAST_ERROR, FittedWeight, geometric_mean_error, relative_errors
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.predicting.model import fit, load
from tests.fitting.test_family_fits_weights import KERNELS, PLANTED, SIZES, measurements
from tests.standins import Rows

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


def test_the_hash_is_of_the_rows_whatever_their_order():
    rows = measurements()
    backwards = Rows(rows.rows[::-1], KERNELS)
    slower = Rows((replace(rows.rows[0], seconds=1.0), *rows.rows[1:]), KERNELS)
    assert rows_hash(rows) == rows_hash(backwards) != rows_hash(slower)


def test_options_are_kept(tmp_path):
    options = FitOptions(nonnegative=True, seed=7)
    fit_weights(measurements(), FAMILY, options=options).save(tmp_path / "w.json")
    assert options == read_weights(tmp_path / "w.json").options


def test_merged_weights_are_marked():
    rows = Rows(tuple(row for row in measurements().rows if row.kernel != "load"), KERNELS)
    merged = fit_weights(rows, FAMILY).weights
    assert ("merged",) == merged["local_load_32"].marks == merged["global_load_32_stride1"].marks


@dataclass(frozen=True)
class KnownRows(Rows):
    facts: DeviceFacts | None = None


def facts(**values):
    return DeviceFacts.from_mapping(
        "stand-in", "none", "1", {key: Fact(value, "", "test") for key, value in values.items()}
    )


OVERLAP = Family(
    name="overlap_of_tests",
    citation="nowhere",
    quantities=lambda case: {"groups": case.value(case.counts.work_groups())},
    units={"groups": "work-group"},
    sums={"chip": ("op_float*", "local_load_*"), "memory": ("global_*",), "start": ("launches",)},
    weights=(Weight("w_group", "s/work-group", start=1e-8, fact="group_s"),),
    parts={"inside": "max(chip, memory)"},
    expression="start + w_group*groups + inside",
    additive=False,
)
TRUE = {
    "launches": 1.5e-5, "w_group": 6e-8, "op_float32_add": 2e-11, "local_load_32": 8e-11,
    "global_load_32_stride1": 4e-10,
}  # fmt: skip


def overlapping(known=None):
    rows = []
    for row in measurements().rows:
        n = row.parameters["n"]
        chip = {"add": 1000 * n**2 * TRUE["op_float32_add"], "tile": 900 * n**2 * TRUE["local_load_32"]}
        memory = 100 * n**2 * TRUE["global_load_32_stride1"] * (row.kernel in ("load", "tile"))
        work = max(chip.get(row.kernel, 0.0), memory)
        rows.append(replace(row, seconds=TRUE["launches"] + n * TRUE["w_group"] + work))
    return KnownRows(tuple(rows), KERNELS, facts=known)


def test_a_family_with_an_expression_is_fitted():
    found = fit_weights(overlapping(), OVERLAP)
    assert sorted(TRUE) == list(found.weights)
    for name, value in TRUE.items():
        assert value == pytest.approx(found.weights[name].value, rel=1e-6)
    assert "s/work-group" == found.weights["w_group"].unit
    assert "s/access" == found.weights["local_load_32"].unit


def test_a_weight_that_the_device_s_facts_give_is_not_fitted():
    found = fit_weights(overlapping(facts(group_s=6e-8)), OVERLAP).weights["w_group"]
    assert (6e-8, 0.0, ("given",)) == (found.value, found.standard_error, found.marks)


def test_a_fact_that_nobody_gave_is_named():
    with pytest.raises(FactsError, match="group_s"):
        fit_weights(overlapping(facts(other=1)), OVERLAP, FitOptions(fit_facts=False))


def test_a_design_of_an_expression_has_its_features_and_quantities():
    table = build_design(overlapping(), OVERLAP)
    assert table.model.features == table.names
    groups = table.matrix[:, table.names.index("groups")]
    np.testing.assert_array_equal([n for _ in KERNELS for n in SIZES], groups)
    fitted = fit_to_design(table, OVERLAP)
    np.testing.assert_allclose(fitted.predict(table), table.times, rtol=1e-6)


def test_scatter_is_kept_to_the_last_bit(tmp_path):
    scatter = Scatter(deviation=1 / 3, freedom=2, cells=7)
    errors = Anchored(conformal=Conformal(scores=(0.1,), groups=("g",)), scatter=scatter)
    fitted = fit_weights(measurements(), FAMILY).model_copy(update={"scatter": scatter, "anchored": errors})
    fitted.save(tmp_path / "w.json")
    assert fitted == read_weights(tmp_path / "w.json")


# {{{ errors of predictions

def test_errors_are_relative_to_the_measured_time():
    assert [0.5, 0.25, 2.0, 1.0] == relative_errors([1.5, 3.0, -1.0, 0.0], [1.0, 4.0, 1.0, 7.0]).tolist()
    assert 0.5 == float(relative_errors(3.0, 2.0))


def test_the_geometric_mean_of_errors():
    assert pytest.approx(0.2) == geometric_mean_error([0.1, 0.4])
    assert pytest.approx((0.5 * 0.25 * 2) ** (1 / 3)) == geometric_mean_error([0.5, 0.25, 2.0])


def test_an_error_counts_as_a_thousandth_at_least():
    assert 1e-3 == LEAST_ERROR
    assert pytest.approx(1e-3) == geometric_mean_error([0.0, 1e-9])
    assert pytest.approx(math.sqrt(1e-3 * 0.1)) == geometric_mean_error([0.0, 0.1])


def test_the_mean_without_errors_or_with_an_infinite_one():
    assert math.isnan(geometric_mean_error([]))
    assert math.inf == geometric_mean_error([0.1, math.inf])

# }}}


# {{{ files that are refused

SCORES = {"scores": [0.1], "groups": ["a"]}
LOCAL = {"constant": 0.0, "lack": 0.5, "private": 1.0, "weights": {}}


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_another_device(path):
    assert "stand-in" == read_weights(path, device="stand-in").device
    with pytest.raises(WeightsError, match="belongs to the device 'stand-in', not to 'Fury'"):
        read_weights(path, device="Fury")


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
        (extra, "has op_float32_mul, which is not in its own list of features"),
        (renamed, "lacks launches and has launch,"),
        (both("op_float32_ad"), "'op_float32_ad' which is not a weight of"),
        (both("global_load_7"), "'global_load_7' which is not a feature"),
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
        (lambda document: document.update(scatter={"deviation": -1.0, "cells": 1}), "scatter.deviation"),
        (lambda document: document.update(scatter={"deviation": 0.1, "cells": 1, "freedom": 3}), "scatter.freedom"),
        (lambda document: document.update(extra=1), "extra"),
        (lambda document: document.update(device=None), "device"),
        (lambda document: document.update(measured={"seconds": [2.0, 1.0], "features": {}}), "from 2.0 to 1.0"),
        (lambda document: document.update(facts={"name": "x"}), "facts of a device that cannot be used: "),
        (lambda document: document.update(schema="perfmodel.weights/9"), "'perfmodel.weights/2'; update perfmodel"),
    ],
)  # fmt: skip
def test_files_that_are_refused(path, change, problem):
    rewrite(path, change)
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


@pytest.mark.parametrize("text", ['{"a": ' * 5000, '{"a": 1, "a": 1}', '{"a": NaN}', '{"a": 1e999}', "9" * 5000])
def test_malformed_json_is_refused(tmp_path, text):
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(WeightsError) as caught:
        read_weights(path)
    assert len(str(caught.value)) < 400


def test_a_missing_file(tmp_path):
    with pytest.raises(WeightsError, match="cannot be read"):
        load(tmp_path / "none.json")
    (tmp_path / "w.json").write_text("{")
    with pytest.raises(WeightsError, match="is not valid JSON"):
        load(tmp_path / "w.json")


def test_a_family_that_does_not_exist_in_the_file(tmp_path):
    path = tmp_path / "w.json"
    fit(measurements()).save(path)
    path.write_text(path.read_text().replace("stevens_kloeckner_2016", "gone"))
    with pytest.raises(UnknownNameError):
        load(path)

# }}}

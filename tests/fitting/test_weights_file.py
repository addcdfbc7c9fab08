"""What a weights file says beside the weights."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from perfmodel.errors import ConfoundedFeaturesError, FactsError, WeightsFileError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FitOptions, build_design, fit_to_design, fit_weights, read_weights
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.design import rows_hash
from perfmodel.fitting.selection import Scatter
from perfmodel.models import Family
from perfmodel.models.model import Weight
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
    options = FitOptions(nonnegative=True, ridge=1e-12, loss="huber", weighting="noise", seed=7)
    rows = tuple(replace(row, kept_s=(row.seconds, 1.01 * row.seconds)) for row in measurements().rows)
    fit_weights(Rows(rows, KERNELS), FAMILY, options=options).save(tmp_path / "w.json")
    assert options == read_weights(tmp_path / "w.json").options


def test_merging_can_be_refused():
    rows = Rows(tuple(row for row in measurements().rows if row.kernel != "load"), KERNELS)
    with pytest.raises(ConfoundedFeaturesError) as caught:
        fit_weights(rows, FAMILY, options=FitOptions(merge=False))
    assert (("global_load_32_stride1", "local_load_32"),) == caught.value.groups
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
    with pytest.raises(FactsError) as caught:
        fit_weights(overlapping(facts(other=1)), OVERLAP, FitOptions(fit_facts=False))
    assert "group_s" == caught.value.key


def test_a_design_of_an_expression_has_its_features_and_quantities():
    table = build_design(overlapping(), OVERLAP)
    assert table.model.features == table.names
    groups = table.matrix[:, table.names.index("groups")]
    np.testing.assert_array_equal([n for _ in KERNELS for n in SIZES], groups)
    fitted = fit_to_design(table, OVERLAP)
    np.testing.assert_allclose(fitted.predict(table), table.times, rtol=1e-6)


def test_files_from_before_scatter_was_kept_are_read(tmp_path):
    fitted = fit_weights(measurements(), FAMILY)
    fitted.save(tmp_path / "new.json")
    document = json.loads((tmp_path / "new.json").read_text())
    for name in ("scatter", "anchored"):
        assert document.pop(name) is None
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert fitted == read_weights(tmp_path / "old.json")


def test_scatter_is_kept_to_the_last_bit(tmp_path):
    scatter = Scatter(deviation=1 / 3, freedom=2, cells=7)
    errors = Anchored(conformal=Conformal(scores=(0.1,), groups=("g",)), scatter=scatter)
    fitted = fit_weights(measurements(), FAMILY).model_copy(update={"scatter": scatter, "anchored": errors})
    fitted.save(tmp_path / "w.json")
    assert fitted == read_weights(tmp_path / "w.json")


@pytest.mark.parametrize(
    "scatter", [{"deviation": -1.0, "cells": 1}, {"deviation": 0.1}, {"deviation": 0.1, "cells": 1, "freedom": 3}]
)
def test_a_scatter_that_is_none_is_refused(tmp_path, scatter):
    fit_weights(measurements(), FAMILY).save(tmp_path / "w.json")
    document = json.loads((tmp_path / "w.json").read_text())
    (tmp_path / "w.json").write_text(json.dumps({**document, "scatter": scatter}))
    with pytest.raises(WeightsFileError, match="scatter"):
        read_weights(tmp_path / "w.json")

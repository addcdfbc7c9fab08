from __future__ import annotations

import json

import pytest

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
        operation_table=(
            Operation("float32", "add", count("1000*n^2")),
            Operation("int32", "add", count("n^3")),
        ),
        group_count=count("n"),
    ),
    "load": Counts(
        access_table=(Access("global", "load", "a", ONE, count("100*n^2")),),
        group_count=count("n"),
    ),
    "tile": Counts(
        access_table=(
            Access("global", "load", "a", ONE, count("100*n^2")),
            Access("local", "load", "t", ONE, count("900*n^2")),
            Access("local", "store", "t", ONE, count("100*n^2")),
        ),
        group_count=count("n"),
    ),
}
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


def test_the_file_holds_the_weights_to_the_last_bit(tmp_path):
    model = fit(measurements())
    path = tmp_path / "device" / "stevens_kloeckner_2016.json"
    model.save(path)
    assert model == load(path)
    assert [path] == list(path.parent.iterdir())
    document = json.loads(path.read_text())
    assert "perfmodel.weights/2" == document["schema"]
    assert list(PLANTED) == document["features"]
    assert {"value", "unit", "standard_error", "marks"} == set(document["weights"]["launches"])

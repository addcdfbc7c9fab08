from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfmodel.errors import FitError, OutputError, StoreError, UnknownNameError
from perfmodel.fitting import build_design, fit_weights
from perfmodel.io import write_whole
from perfmodel.models import find_family
from perfmodel.predicting.model import fit, load
from tests.standins import Access, Counts, Operation, Row, Rows, count

ONE = count("1", "")
PLANTED = {
    "global_load_32_stride1": 4e-10,
    "launches": 1.5e-5,
    "local_load_32": -3e-11,
    "op_float32_add": 2e-11,
    "work_groups": 6e-8,
}
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


def test_a_design_that_is_made_already():
    rows, name = measurements(), "stevens_kloeckner_2016"
    table = build_design(rows, find_family(name))
    assert fit_weights(rows, name) == fit_weights(rows, name, table=table)


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


def test_fewer_measurements_than_features():
    with pytest.raises(FitError, match=r"1 usable measurements .* 2 weights \(launches, work_groups\)"):
        fit_weights(Rows(measurements().rows[:1], KERNELS), "stevens_kloeckner_2016")
    with pytest.raises(FitError):
        fit_weights(Rows((), {}), "stevens_kloeckner_2016")


def test_a_time_of_zero_is_named():
    rows = (*measurements().rows, Row("empty", {"n": 8}, 0.0, "empty", {"group": 64}))
    with pytest.raises(FitError, match="empty group=64 n=8"):
        fit(Rows(rows, KERNELS))


def test_missing_counts_are_named():
    rows = (*measurements().rows, Row("gone", {"n": 8}, 1.0, "abc"))
    with pytest.raises(StoreError, match=r"gone n=8' \(hash abc"):
        fit(Rows(rows, KERNELS))


def test_an_unknown_family():
    with pytest.raises(UnknownNameError):
        fit(measurements(), family="nothing")


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


def test_an_output_that_cannot_be_written_leaves_nothing(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    for path in (blocked / "weights.json", tmp_path):
        with pytest.raises(OutputError) as caught:
            fit(measurements()).save(path)
        assert str(path) == caught.value.path
    assert [blocked] == list(tmp_path.iterdir())
    assert "mine" == blocked.read_text()


def test_a_failed_write_keeps_what_was_there(tmp_path, monkeypatch):
    target = tmp_path / "weights.json"
    target.write_text("old")

    def refuse(self, other):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        write_whole(target, b"new")
    assert "old" == target.read_text()
    assert [target] == list(tmp_path.iterdir())


def test_a_written_file_has_the_usual_permissions(tmp_path):
    write_whole(tmp_path / "a", b"")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "b").stat().st_mode == (tmp_path / "a").stat().st_mode

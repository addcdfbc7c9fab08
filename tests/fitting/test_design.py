"""From measurements to a matrix and to weights: columns, weights of rows, clocks, given weights, refused rows."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from perfmodel.errors import FactsError, FitError, StoreError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FitOptions
from perfmodel.fitting.design import agreement_weights, build_design, fit_to_design, single_threaded
from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, Weight, weight_name
from perfmodel.predicting.model import FittedModel, fit, load
from tests.fitting.test_weights_file import KERNELS, measurements
from tests.standins import Row, Rows

LINEAR = Family("toy", "nowhere", ("op_float32_add", "work_groups", "global_load_*", "local_*"))
UNITS = DeviceFacts.from_mapping("stand-in", "none", "0", {"compute_units": Fact(4, "", "by hand")})
OWN = Family(
    "own", "nowhere",
    quantities=lambda case: {"waves": case.value(case.counts.work_groups()) / case.fact("compute_units")},
    units={"waves": ""},
    sums={"work": ("op_float*", "global_*")},
    weights=(Weight("w_wave", "s", fact="launch_s"),),
    expression="work + w_wave*waves",
    additive=False,
)  # fmt: skip


def rows(*cases: tuple[str, int], facts=None) -> Rows:
    found = (Row(name, {"n": n}, 1e-3 * n, name, kept_s=(1e-3 * n, 3e-3 * n)) for name, n in cases)
    return Rows(tuple(found), KERNELS, facts=facts)


def test_columns_are_the_exercised_features_that_the_family_takes():
    table = build_design(rows(("add", 2), ("load", 3)), LINEAR)
    assert ("global_load_32_stride1", "op_float32_add", "work_groups") == table.names
    # 1000 n^2 additions, 100 n^2 loads, n work-groups
    assert [[0.0, 4000.0, 2.0], [900.0, 0.0, 3.0]] == table.matrix.tolist()
    assert ([2e-3, 3e-3], ("add n=2", "load n=3"), 16) == (table.times.tolist(), table.labels, table.subgroup_size)
    assert [1.0, 1.0] == table.row_weights.tolist()
    assert {} == dict(table.known)


def test_rows_whose_visits_disagree_weigh_less_and_all_others_one():
    agreed, other = rows(("add", 2), ("load", 3)).rows
    table = build_design(Rows((agreed, replace(other, disagreement=0.1)), KERNELS), LINEAR)
    assert [1.0, pytest.approx(0.25)] == table.row_weights.tolist()
    several = Rows(tuple(replace(agreed, disagreement=d) for d in (nan, 0.0, 0.05, 0.1, 0.5)), {})
    assert [1.0, 1.0, 1.0, pytest.approx(0.25), pytest.approx(0.01)] == list(agreement_weights(several))


def test_quantities_are_columns_too_and_a_weight_that_a_fact_gives_is_not_fitted():
    table = build_design(rows(("add", 2), ("load", 4), facts=UNITS), OWN)
    assert {"global_load_32_stride1", "op_float32_add", "waves"} == {*table.names}
    assert [0.5, 1.0] == table.matrix[:, table.names.index("waves")].tolist()
    assert {"w_global_load_32_stride1", "w_op_float32_add", "w_wave"} == {*table.model.weights}
    known = UNITS.updated({"launch_s": Fact(2e-6, "s", "by hand")})
    table = build_design(rows(("add", 2), facts=known), OWN)
    assert {"w_wave": 2e-6} == dict(table.known)
    assert ("w_op_float32_add",) == table.model.weights
    with pytest.raises(FactsError, match="launch_s"):
        build_design(rows(("add", 2), facts=UNITS), OWN, FitOptions(fit_facts=False))


def test_stacked_designs_are_the_design_of_all_rows():
    parts = [("add", 2), ("empty", 3)], [("load", 3), ("tile", 4)]
    for family in (LINEAR, OWN):
        first, second = (build_design(rows(*part, facts=UNITS), family) for part in parts)
        found = first.stacked(second, family)
        whole = build_design(rows(*parts[0], *parts[1], facts=UNITS), family)
        assert (whole.names, whole.labels) == (found.names, found.labels)
        for name in ("matrix", "times", "row_weights"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(found, name))


def test_rows_that_cannot_be_used_are_named_and_no_rows_are_an_empty_design():
    with pytest.raises(FitError, match=r"row 1 \(add n=0\)") as caught:
        build_design(rows(("add", 2), ("add", 0)), LINEAR)
    assert (1,) == caught.value.rows
    with pytest.raises(StoreError, match="gone n=1"):
        build_design(Rows((Row("gone", {"n": 1}, 1.0, "gone"),), KERNELS), LINEAR)
    table = build_design(Rows((), {}), LINEAR)
    assert ((0, 0), (), 0) == (table.matrix.shape, table.names, table.subgroup_size)


def with_device(measured: Rows, *device_s: float) -> Rows:
    timed = (replace(row, device_s=seconds) for row, seconds in zip(measured.rows, device_s, strict=True))
    return replace(measured, rows=tuple(timed))


def test_weights_are_fitted_to_the_clock_of_the_device():
    """The host adds 0.5, 1 and 2 ms; weighted by 1/2, 1/4 and 1/6 the median is the first."""
    measured = with_device(rows(("add", 2), ("add", 4), ("add", 6)), 1.5e-3, 3e-3, 4e-3)
    table = build_design(measured, LINEAR)
    assert pytest.approx(0.5e-3) == table.launch_s
    assert ([2e-3, 4e-3, 6e-3], [1.5e-3, 3e-3, 4e-3]) == (table.times.tolist(), table.fitted_times.tolist())
    assert ([6e-3], [4e-3]) == tuple(map(list, (table.select(np.array([2])).times, table.select([2]).fitted_times)))
    by_host = build_design(measured, LINEAR, FitOptions(clock="host"))
    assert (None, table.times.tolist()) == (by_host.launch_s, by_host.fitted_times.tolist())


def test_predictions_by_the_host_are_those_of_the_device_and_a_launch():
    """Device times are 1 us for each addition; the host adds 30 us."""
    family = Family("toy", "nowhere", ("op_float32_add",))
    cases = [("add", n) for n in (1, 2, 4)]
    device = [1e-6 * 1000 * n**2 for _, n in cases]
    host = tuple(replace(row, seconds=t + 3e-5) for row, t in zip(rows(*cases).rows, device, strict=True))
    table = build_design(with_device(Rows(host, KERNELS), *device), family)
    fit = fit_to_design(table, family)
    assert [pytest.approx(1e-6)] == fit.coefficients.tolist()
    assert pytest.approx(table.times, rel=1e-9) == fit.predict(table)


GIVEN = Family(
    name="given", citation="this test", weights=(Weight("w_launch", "s/launch", fact="launch_s"),),
    expression="w_launch*launches", additive=False,
)  # fmt: skip
LAUNCH_FACTS = DeviceFacts("stand-in", "none", "0", (("launch_s", Fact(3e-6, "s", "by hand")),))


def given_rows(*names: str) -> Rows:
    found = Rows(tuple(Row(name, {"n": n}, 6e-6, name, group=name) for name in names for n in (8, 16)), KERNELS)
    object.__setattr__(found, "facts", LAUNCH_FACTS)
    return found


def test_with_given_weights_nothing_is_fitted_and_everything_is_predicted(tmp_path):
    model = fit(given_rows("empty", "add"), GIVEN)
    assert {"w_launch": 3e-6} == dict(model.weights)
    assert (("given",), 0, 4) == (
        model.fitted.weights["w_launch"].marks, model.fitted.rank, model.fitted.degrees_of_freedom
    )  # fmt: skip
    assert 0.5 == pytest.approx(model.fitted.residuals.median)
    assert 3e-6 == model.predict(KERNELS["add"], n=100).seconds
    table = build_design(given_rows("empty"), GIVEN)
    found = fit_to_design(table, GIVEN)
    assert ([3e-6, 3e-6], ("w_launch",), [0.0]) == (found.predict(table).tolist(), found.names, found.errors.tolist())
    assert (2, 0) == found.by_weight(table).shape
    model.save(tmp_path / "w.json")
    assert FittedModel(model.fitted, LAUNCH_FACTS) == load(tmp_path / "w.json", GIVEN)
    with pytest.raises(FactsError, match="launch_s"):
        fit(Rows(given_rows("empty").rows, KERNELS), GIVEN, options=FitOptions(fit_facts=False))
    with pytest.raises(FitError):
        fit_to_design(build_design(given_rows(), GIVEN), GIVEN)


@pytest.mark.parametrize("name", ["stevens_kloeckner_2016", "overlap"])
def test_seconds_by_weight_are_those_of_a_prediction(name):
    family = find_family(name)
    table = build_design(measurements(), family)
    found = fit_to_design(table, family)
    model = RunTime(family, dict(zip(found.names, found.coefficients.tolist(), strict=True)))
    values = [dict(zip(table.names, row.tolist(), strict=True)) for row in table.matrix]
    expected = [[model.by_weight(one)[weight_name(family, w)] for w in table.model.weights] for one in values]
    np.testing.assert_allclose(found.by_weight(table), expected, rtol=1e-12, atol=1e-20)


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_uses_one_thread_inside_the_context() -> None:
    with single_threaded():
        pass  # libraries that scipy brings are loaded now
    before = blas_threads()
    assert before
    with single_threaded():
        assert {1} == set(blas_threads())
    assert before == blas_threads()

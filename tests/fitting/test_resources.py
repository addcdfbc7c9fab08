"""Fits of an overhead and a smooth maximum, against planted weights, another optimiser and plain least squares."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from perfmodel import Family, Weight, fit, store
from perfmodel.errors import FamilyError
from perfmodel.fitting.design import DEFAULT_SHARPNESS
from perfmodel.fitting.resources import ResourceModel, fit_resources

QUICKSTART = Path(__file__).parents[2] / "docs" / "data" / "quickstart" / "measurements.jsonl"
#: Columns 0 and 1 are overheads; two resources have two columns each.
FORM = {"left": (2, 3), "right": (4, 5)}
PLANTED = np.array([1e-6, 2e-9, 3e-9, 5e-10, 4e-9, 1e-9])


def rows(count: int = 200, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    table = 10 ** generator.uniform(2, 6, (count, 6)) * (generator.random((count, 6)) < 0.7)
    table[:, 0] = 1.0
    return table


def by_hand(table: np.ndarray, weights: np.ndarray, sharpness: float) -> np.ndarray:
    """The times of the definition, resource by resource."""
    left, right = (table[:, list(own)] @ weights[list(own)] for own in FORM.values())
    return table[:, :2] @ weights[:2] + (left**sharpness + right**sharpness) ** (1 / sharpness)


@pytest.mark.parametrize("sharpness", [1.0, 2.0, 5.0])
def test_planted_weights_are_found(sharpness: float) -> None:
    table = rows()
    times = by_hand(table, PLANTED, sharpness)
    found = fit_resources(ResourceModel(FORM, sharpness), table, times, np.ones(len(times)))
    assert PLANTED == pytest.approx(found.weights, rel=1e-6)
    assert found.converged
    assert times == pytest.approx(found.predict(table))
    assert (((),) * 6, 6) == (found.marks, found.rank)


def test_given_weights_stay_and_the_others_fit_the_rest() -> None:
    """With a right weight given, the planted ones are found; with a wrong one, it stays, and the rest is the best."""
    table = rows()
    times = by_hand(table, PLANTED, 2.0)
    found = fit_resources(ResourceModel(FORM, 2.0, {4: PLANTED[4]}), table, times, np.ones(len(times)))
    assert PLANTED == pytest.approx(found.weights, rel=1e-6)
    wrong = fit_resources(ResourceModel(FORM, 2.0, {4: 2 * PLANTED[4]}), table, times, np.ones(len(times)))
    assert 2 * PLANTED[4] == pytest.approx(wrong.weights[4], rel=1e-12)

    def loss(others: np.ndarray) -> float:
        errors = np.abs(np.log(times / by_hand(table, np.insert(np.exp(others), 4, 2 * PLANTED[4]), 2.0)))
        return float(np.where(errors < 0.2, errors**2 / 2, 0.2 * (errors - 0.1)).sum())

    best = np.log(np.maximum(np.delete(wrong.weights, 4), 1e-15))
    for k in range(5):
        for side in (-0.02, 0.02):
            assert loss(best) <= loss(best + side * (np.arange(5) == k)) + 1e-9


def test_the_slopes_are_the_derivatives() -> None:
    table, model, step = rows(30), ResourceModel(FORM, 3.0), 1e-6
    _, slopes = model.times(table, PLANTED)
    for column in range(6):
        up, down = (
            by_hand(table, PLANTED * np.where(np.arange(6) == column, 1 + sign * step, 1.0), 3.0) for sign in (1, -1)
        )
        numeric = (up - down) / (2 * step * PLANTED[column])
        assert numeric == pytest.approx(table[:, column] * slopes[:, column], rel=1e-5, abs=1e-9 * table.max())


def test_noisy_times_are_fitted_as_well_as_by_another_optimiser() -> None:
    table, generator = rows(), np.random.default_rng(3)
    times = by_hand(table, PLANTED, 2.0) * np.exp(generator.normal(0, 0.05, 200))
    found = fit_resources(ResourceModel(FORM, 2.0), table, times, np.ones(200))

    def residuals(logs: np.ndarray) -> np.ndarray:
        return np.log(times / by_hand(table, np.exp(logs), 2.0))

    other = least_squares(residuals, np.log(PLANTED), loss="huber", f_scale=0.2)
    sizes = np.abs(residuals(np.log(found.weights)))
    loss = np.sum(np.where(sizes < 0.2, sizes**2 / 2, 0.2 * (sizes - 0.1)))
    assert loss == pytest.approx(other.cost, rel=1e-4)
    assert np.exp(other.x) == pytest.approx(found.weights, rel=0.02)
    # each planted weight is within four standard errors
    assert np.all(np.abs(found.weights - PLANTED) < 4 * found.standard_errors)


def test_odd_rows_do_not_decide() -> None:
    table = rows()
    times = by_hand(table, PLANTED, 2.0)
    times[::20] *= 3  # one in twenty was disturbed
    found = fit_resources(ResourceModel(FORM, 2.0), table, times, np.ones(200))
    assert PLANTED[2:] == pytest.approx(found.weights[2:], rel=0.05)


def test_what_is_in_no_row_is_free_and_said_so() -> None:
    table = rows()
    times = by_hand(table, PLANTED * np.array([1, 1, 1, 0, 1, 1]), 2.0)
    table[:, 3] = 0
    found = fit_resources(ResourceModel(FORM, 2.0), table, times, np.ones(200))
    assert (0.0, np.inf, ("undetermined",)) == (found.weights[3], found.standard_errors[3], found.marks[3])
    assert np.delete(PLANTED, 3) == pytest.approx(np.delete(found.weights, 3), rel=1e-6)


def test_no_weight_is_negative() -> None:
    table = rows()
    free = PLANTED * np.array([1, 0, 1, 1, 1, 1])
    times = by_hand(table, free, 2.0) / (1 + table[:, 1] / table[:, 1].max())  # column 1 makes rows faster
    found = fit_resources(ResourceModel(FORM, 2.0), table, times, np.ones(200))
    assert 0 == found.weights[1]
    assert "at bound" in found.marks[1]
    assert np.all(found.weights >= 0)


def test_a_fit_to_the_same_rows_is_made_once_and_one_to_others_anew() -> None:
    table = rows()
    times = by_hand(table, PLANTED, 2.0)
    first, again, sharper = (
        fit_resources(ResourceModel(FORM, sharpness), table.copy(), times.copy(), np.ones(200))
        for sharpness in (2.0, 2.0, 3.0)
    )
    assert first is again
    assert not np.array_equal(first.weights, sharper.weights)
    times[0] *= 2
    assert fit_resources(ResourceModel(FORM, 2.0), table, times, np.ones(200)) is not first


@pytest.mark.parametrize("sharp", [True, False])
def test_a_family_needs_the_weight_of_its_sharpness(sharp: bool) -> None:
    """Without a fact and candidates the sharpness has a default, which no row changes."""
    terms = "w_loads*loads, w_stores*stores"
    longest = f"smooth_max({terms}, w_sharpness)" if sharp else f"max({terms})"
    weights = [Weight("w_loads", "s/access"), Weight("w_stores", "s/access"), *[Weight("w_sharpness", "")] * sharp]
    family = Family(
        name="two", citation="none", units={"loads": "access", "stores": "access"}, weights=tuple(weights),
        quantities=lambda case: {
            f"{way}s": case.value(case.counts.accesses(direction=way)) for way in ("load", "store")
        },
        resources={"first": ("loads",), "second": ("stores",)}, expression=longest, additive=False,
    )  # fmt: skip
    measurements = store.read(QUICKSTART)
    if not sharp:
        with pytest.raises(FamilyError, match="no weight w_sharpness"):
            fit(measurements, family)
        return
    weights = fit(measurements, family).weights
    assert {"w_loads", "w_stores", "w_sharpness"} == set(weights)
    assert DEFAULT_SHARPNESS == weights["w_sharpness"]

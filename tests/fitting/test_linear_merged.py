"""A linear fit with merged, missing and held columns, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import ConfoundedFeaturesError, TooFewRowsError
from perfmodel.fitting.least_squares import TrainingRows
from perfmodel.fitting.linear import fit_linear

NAMES = ("launches", "never", "loads", "stores", "operations")


def rows(loads_weight: float = 2.0) -> TrainingRows:
    """Times 5 + 2 loads + 7 operations; there are three stores for each load, and one column is zero throughout."""
    loads, operations = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 1.0]), np.array([4.0, 1.0, 0.0, 2.0, 3.0, 9.0])
    matrix = np.column_stack([np.ones(6), np.zeros(6), loads, 3 * loads, operations])
    return TrainingRows(matrix, 5 + loads_weight * loads + 7 * operations, np.ones(6), NAMES)


def test_proportional_columns_share_their_time_evenly() -> None:
    found = fit_linear(rows(), rows().times, merge=True)
    assert [0, 2, 3, 4] == found.columns.tolist()  # the column of zeros has no weight
    # 2 loads = 1 load + 1/3 of three stores: each of the two has half of the time
    np.testing.assert_allclose(found.coefficients, [5, 1, 1 / 3, 7], rtol=1e-12)
    assert ((2, 3),) == found.merged == found.confounded
    assert [(), ("merged",), ("merged",), ()] == list(found.marks)
    assert 3 == found.solution.rank
    assert found.converged


def test_without_merging_they_are_refused_by_name() -> None:
    with pytest.raises(ConfoundedFeaturesError) as caught:
        fit_linear(rows(), rows().times)
    assert (("loads", "stores"),) == caught.value.groups
    assert (3, 4) == (caught.value.rank, caught.value.columns)


def test_a_ridge_makes_them_distinct_without_a_merge() -> None:
    found = fit_linear(rows(), rows().times, ridge=1e-12)
    assert () == found.merged
    np.testing.assert_allclose(found.coefficients[[0, 3]], [5, 7], rtol=1e-5)
    np.testing.assert_allclose(found.coefficients @ [0, 1, 3, 0], 2, rtol=1e-5)  # a load with its stores


def test_a_weight_below_zero_is_held_at_zero() -> None:
    table = rows(loads_weight=-0.2)
    free = fit_linear(table, table.times, merge=True)
    np.testing.assert_allclose(free.coefficients, [5, -0.1, -0.1 / 3, 7], rtol=1e-10)
    held = fit_linear(table, table.times, merge=True, nonnegative=True)
    assert [0.0, 0.0] == held.coefficients[[1, 2]].tolist()
    assert [("merged", "at bound")] * 2 == list(held.marks[1:3])


@pytest.mark.parametrize("divide", [True, False])
def test_errors_are_relative_to_the_divisors(divide: bool) -> None:
    # one column: sum (t - w x)^2/d^2 is least at w = sum(x t/d^2)/sum(x^2/d^2)
    x, t = np.array([1.0, 10.0, 100.0]), np.array([3.0, 20.0, 100.0])
    table = TrainingRows(x[:, None], t, np.ones(3), ("x",))
    d = t if divide else np.ones(3)
    expected = (x * t / d**2).sum() / (x**2 / d**2).sum()
    assert pytest.approx(expected, rel=1e-13) == fit_linear(table, d).coefficients[0]


def test_a_row_that_counts_twice_is_two_rows() -> None:
    x, t = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 9.0])
    twice = TrainingRows(x[:, None], t, np.array([1.0, 2.0, 1.0]), ("x",))
    written = TrainingRows(x[[0, 1, 1, 2], None], t[[0, 1, 1, 2]], np.ones(4), ("x",))
    found = [fit_linear(table, table.times).coefficients[0] for table in (twice, written)]
    assert pytest.approx(found[0], rel=1e-14) == found[1]


@pytest.mark.parametrize("matrix", [np.zeros((3, 2)), np.array([[1.0, 2.0]])])
def test_too_few_rows_for_the_columns(matrix: np.ndarray) -> None:
    table = TrainingRows(matrix, np.ones(len(matrix)), np.ones(len(matrix)), ("a", "b"))
    with pytest.raises(TooFewRowsError):
        fit_linear(table, table.times)

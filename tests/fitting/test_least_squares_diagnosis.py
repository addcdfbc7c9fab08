"""Standard errors, intervals and marks of weights; losses that odd rows do not move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import least_squares as scipy_least_squares

from perfmodel.errors import UnknownLossError
from perfmodel.fitting import RelativeLeastSquares, noise_weights
from perfmodel.fitting.weights_file import MEANING
from tests.standins import Row, Rows

PLANTED = np.array([2e-5, 3e-9, 4e-12, 5e-11])


def cases(rows: int = 80, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = np.floor(10 ** rng.uniform([0, 1, 4, 3], [0.1, 5, 8, 7], (rows, 4)))
    matrix[:, 0] = 1
    return matrix


def test_planted_weights_lie_inside_their_intervals_as_often_as_stated():
    matrix = cases()
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(200):
        times = matrix @ PLANTED * (1 + 0.02 * rng.standard_normal(len(matrix)))
        low, high = RelativeLeastSquares().fit(matrix, times).intervals(0.9).T
        assert np.isfinite(high - low).all()
        inside.append((low <= PLANTED) & (high >= PLANTED))
    assert 0.85 <= np.mean(inside) <= 0.95


def test_standard_errors_are_the_textbook_s():
    matrix = cases()
    times = matrix @ PLANTED * np.random.default_rng(2).uniform(0.9, 1.1, len(matrix))
    found = RelativeLeastSquares().fit(matrix, times)
    scaled = matrix / times[:, None]
    residuals = 1 - scaled @ found.coef_
    covariance = np.linalg.inv(scaled.T @ scaled) * (residuals @ residuals / 76)
    np.testing.assert_allclose(found.standard_errors_, np.sqrt(np.diag(covariance)), rtol=1e-6)
    half = stats.t.ppf(0.975, 76) * found.standard_errors_
    np.testing.assert_allclose(found.intervals(0.95), np.c_[found.coef_ - half, found.coef_ + half])
    assert 76 == pytest.approx(found.degrees_of_freedom_)


def test_without_a_row_to_spare_nothing_is_known_of_the_errors():
    matrix = cases(4)
    found = RelativeLeastSquares().fit(matrix, matrix @ PLANTED)
    assert np.isinf(found.standard_errors_).all()
    assert np.isinf(found.intervals()).all()


def test_marks_say_what_a_weight_rests_on():
    rng = np.random.default_rng(4)
    matrix = np.zeros((40, 4))
    matrix[:, 0] = 1
    matrix[:, 1] = rng.uniform(0, 1e-6, 40)  # hardly any time
    matrix[7, 2] = 5  # one row alone
    matrix[:, 3] = rng.uniform(1, 2, 40)
    times = (matrix @ [1.0, 1.0, 1.0, 3.0]) * rng.uniform(0.9, 1.1, 40)
    marks = RelativeLeastSquares().fit(matrix, times).marks_
    assert ((), ("barely",), ("one row",), ()) == marks
    assert set(MEANING) >= {mark for own in marks for mark in own}


def test_a_weight_at_its_bound_is_marked_and_has_an_error():
    rng = np.random.default_rng(5)
    matrix = rng.uniform(1, 2, (50, 3))
    times = matrix @ [3.0, 2.0, -0.5] * rng.uniform(0.98, 1.02, 50)
    found = RelativeLeastSquares(nonnegative=True).fit(matrix, times)
    assert ((), (), ("at bound",)) == found.marks_
    assert 0 == found.coef_[2]
    # Were it let go, it would be known as well as a fit of all three knows it.
    free = RelativeLeastSquares().fit(matrix, times)
    scaled = matrix / times[:, None]
    ratio = np.std(1 - scaled @ found.coef_) / np.std(1 - scaled @ free.coef_)
    assert found.standard_errors_[2] / free.standard_errors_[2] == pytest.approx(ratio, rel=0.1)


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_odd_rows_move_a_robust_fit_little(loss):
    matrix = cases()
    rng = np.random.default_rng(6)
    times = matrix @ PLANTED * rng.uniform(0.98, 1.02, len(matrix))
    times[::10] /= 2
    plain = RelativeLeastSquares().fit(matrix, times)
    robust = RelativeLeastSquares(loss=loss).fit(matrix, times)
    assert robust.converged_
    assert np.max(np.abs(robust.coef_ / PLANTED - 1)) < 0.05
    assert np.max(np.abs(plain.coef_ / PLANTED - 1)) > 0.1


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_reweighting_ends_where_scipy_s_loss_is_least(loss):
    from perfmodel.fitting.linear import TUNING, spread

    matrix = cases()
    times = matrix @ PLANTED * np.random.default_rng(7).lognormal(0, 0.1, len(matrix))
    found = RelativeLeastSquares(loss=loss).fit(matrix, times)
    scaled = matrix / times[:, None] * PLANTED
    bend = TUNING[loss] * spread(1 - scaled @ (found.coef_ / PLANTED))
    expected = scipy_least_squares(
        lambda u: 1 - scaled @ u, np.ones(4), jac=lambda u: -scaled, loss=loss, f_scale=bend,
        xtol=1e-14, ftol=1e-14, gtol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(found.coef_ / PLANTED, expected.x, rtol=1e-5)


def test_a_loss_that_does_not_exist():
    with pytest.raises(UnknownLossError) as caught:
        RelativeLeastSquares(loss="hubber").fit([[1.0]], [1.0])
    assert ("hubber", ("linear", "huber", "soft_l1", "cauchy")) == (
        caught.value.name, caught.value.allowed,
    )  # fmt: skip


def test_noisy_rows_weigh_less():
    quiet = Row("a", {}, 1.0, "0", kept_s=(1.0, 1.01, 0.99, 1.0))
    loud = Row("b", {}, 1.0, "0", kept_s=(1.0, 2.0, 3.0))
    once = Row("c", {}, 1.0, "0", kept_s=(1.0,))
    found = noise_weights(Rows((quiet, loud, once), {}), floor=0.1)
    # medians of the deviations: 0.005, 1; a single run counts as noise of 100 %
    expected = [1 / (0.01 + (1.4826 * 0.005) ** 2), 1 / (0.01 + 1.4826**2), 1 / 1.01]
    assert expected == pytest.approx(found)

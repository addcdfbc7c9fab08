"""Weights of families that are expressions."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import NoStartError, StartsError, TooFewRowsError, WrongColumnsError
from perfmodel.expressions.expression import parse
from perfmodel.fitting import RelativeLeastSquares, RelativeNonlinearLeastSquares

NAMES = ("launches", "chip", "memory")
OVERLAP = parse("w_launch*launches + smooth_max(w_chip*chip, w_memory*memory, w_sharpness)", NAMES)
MAXIMUM = parse("w_launch*launches + max(w_chip*chip, w_memory*memory)", NAMES)
PLANTED = {"w_launch": 1e-5, "w_chip": 2e-11, "w_memory": 3e-10, "w_sharpness": 3.0}
BOUNDS = {"w_sharpness": (1.0, 64.0)}
START = {"w_sharpness": 8.0}


def cases(rows: int = 80, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(rows), *10 ** rng.uniform(4, 9, (2, rows))])


def times(expression, matrix):
    values = dict(zip(expression.features, matrix.T, strict=True))
    return expression.value(values, [PLANTED[name] for name in expression.weights])


@pytest.mark.parametrize("expression", [OVERLAP, MAXIMUM], ids=lambda one: one.text)
def test_planted_weights_are_recovered(expression):
    matrix = cases()
    found = RelativeNonlinearLeastSquares(expression=expression, start=START, bounds=BOUNDS)
    found.fit(matrix, times(expression, matrix))
    assert found.weights_ == expression.weights
    planted = [PLANTED[name] for name in expression.weights]
    np.testing.assert_allclose(found.coef_, planted, rtol=1e-8)
    assert found.converged_
    assert 8 == len(found.attempts_)
    assert found.n_iter_ == sum(attempt.evaluations for attempt in found.attempts_)
    assert len(planted) == found.rank_
    np.testing.assert_allclose(found.predict(matrix), times(expression, matrix), rtol=1e-8)
    assert pytest.approx(1) == found.score(matrix, times(expression, matrix))


def test_noisy_trials_lie_inside_their_intervals():
    matrix, rng, inside = cases(), np.random.default_rng(1), []
    exact = times(MAXIMUM, matrix)
    for _ in range(60):
        noisy = exact * (1 + 0.02 * rng.standard_normal(len(matrix)))
        found = RelativeNonlinearLeastSquares(expression=MAXIMUM, starts=1).fit(matrix, noisy)
        low, high = found.intervals(0.9).T
        planted = [PLANTED[name] for name in MAXIMUM.weights]
        inside.append((low <= planted) & (planted <= high))
    assert 0.82 <= np.mean(inside) <= 0.97


def test_a_linear_expression_gives_what_the_linear_estimator_gives():
    rng = np.random.default_rng(2)
    matrix = 10 ** rng.uniform(0, 4, (60, 3))
    noisy = matrix @ [1.0, 2.0, 0.0] * rng.lognormal(0, 0.2, 60)
    expected = RelativeLeastSquares(nonnegative=True).fit(matrix, noisy)
    found = RelativeNonlinearLeastSquares().fit(matrix, noisy)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-12)
    free = [i for i in range(3) if expected.coef_[i] > 0]
    np.testing.assert_allclose(
        found.standard_errors_[free], expected.standard_errors_[free], rtol=1e-6
    )


def test_what_ends_at_a_bound_is_marked():
    rng = np.random.default_rng(3)
    matrix = rng.uniform(1, 2, (50, 3))
    noisy = matrix @ [3.0, 2.0, -0.5] * rng.uniform(0.98, 1.02, 50)
    found = RelativeNonlinearLeastSquares().fit(matrix, noisy)
    assert (0.0, ("at bound",)) == (found.coef_[2], found.marks_[2])
    assert np.isinf(found.standard_errors_[2])


def test_a_branch_that_no_row_takes_is_not_determined():
    matrix = cases()
    matrix[:, 1] = matrix[:, 2]
    exact = matrix @ [1e-5, 0.0, 3e-10]
    found = RelativeNonlinearLeastSquares(expression=MAXIMUM, start={"w_chip": 1e-12, "w_memory": 3e-10}, starts=1)
    found.fit(matrix, exact)
    assert (("undetermined",), ()) == (found.marks_[1], found.marks_[2])
    assert np.isinf(found.standard_errors_[1])


def test_odd_rows_move_a_robust_fit_little():
    matrix = cases()
    odd = times(OVERLAP, matrix) * np.random.default_rng(4).uniform(0.98, 1.02, 80)
    odd[::10] /= 2
    planted = np.array(list(PLANTED.values()))
    options = {"expression": OVERLAP, "start": START, "bounds": BOUNDS, "starts": 2}
    plain = RelativeNonlinearLeastSquares(**options).fit(matrix, odd).coef_
    robust = RelativeNonlinearLeastSquares(**options, loss="cauchy").fit(matrix, odd).coef_
    assert np.max(np.abs(robust / planted - 1)[:3]) < 0.05
    assert np.max(np.abs(plain / planted - 1)[:3]) > 0.1


def test_the_seed_decides_the_starting_points():
    matrix = cases()
    exact = times(OVERLAP, matrix)
    runs = [
        RelativeNonlinearLeastSquares(
            expression=OVERLAP, start=START, bounds=BOUNDS, random_state=seed
        ).fit(matrix, exact)
        for seed in (1, 1, 2)
    ]
    starts = [[attempt.start for attempt in run.attempts_] for run in runs]
    assert starts[0] == starts[1] != starts[2]
    # the first one lets every term take a similar time, whatever the seed
    assert starts[0][0] == starts[2][0]


def test_a_model_that_is_finite_nowhere():
    nowhere = parse("w_a*launches/(0*chip)", NAMES)
    with pytest.raises(NoStartError) as caught:
        RelativeNonlinearLeastSquares(expression=nowhere, starts=3).fit(cases()[:, :2], np.ones(80))
    assert (nowhere.text, 3) == (caught.value.expression, caught.value.tried)


def test_options_and_columns_that_do_not_fit():
    with pytest.raises(StartsError, match="0 starting points"):
        RelativeNonlinearLeastSquares(starts=0).fit([[1.0]], [1.0])
    with pytest.raises(WrongColumnsError) as caught:
        RelativeNonlinearLeastSquares(expression=MAXIMUM).fit(cases()[:, :2], np.ones(80))
    assert (2, NAMES) == (caught.value.columns, caught.value.features)
    with pytest.raises(TooFewRowsError):
        RelativeNonlinearLeastSquares(expression=MAXIMUM).fit(cases(2), np.ones(2))


def test_an_upper_bound_is_met_exactly():
    matrix = cases()
    found = RelativeNonlinearLeastSquares(expression=OVERLAP, start=START, bounds={"w_sharpness": (1.0, 2.5)})
    found.fit(matrix, times(OVERLAP, matrix))
    assert (2.5, ("at bound",)) == (found.coef_[3], found.marks_[3])

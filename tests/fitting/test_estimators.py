"""scikit-learn's own checks of estimators, and what it takes for granted."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.exceptions
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from perfmodel.errors import NotFittedError
from perfmodel.fitting import OrdinaryLeastSquares, RelativeLeastSquares, RelativeNonlinearLeastSquares

FEW_ROWS = {
    "check_fit2d_1sample": "one row cannot determine ten weights: TooFewRowsError says so in "
    "measurements and weights, where the check looks for the words '1 sample'",
    "check_sample_weight_equivalence_on_dense_data": "15 distinct rows for 30 columns: weights that "
    "rows do not determine are refused, not guessed (equivalence: test_fit_linear.py)",
}
POSITIVE = {
    "check_positive_only_tag_during_fit": "negative counts are refused, as the check wants, but "
    "with BadFeatureValuesError, which names the columns, and not in scikit-learn's words",
}
ESTIMATORS = {
    OrdinaryLeastSquares(): FEW_ROWS,
    RelativeLeastSquares(): {**FEW_ROWS, **POSITIVE},
    RelativeLeastSquares(nonnegative=True, ridge=0.01, loss="huber", merge=True): {
        **FEW_ROWS,
        **POSITIVE,
    },
    RelativeNonlinearLeastSquares(starts=2): {**FEW_ROWS, **POSITIVE},
}


def checks():
    """Every check of scikit-learn but that of array interfaces, which skips itself.

    That one runs only where SciPy's array interface is switched on by an environment variable.
    What is expected to fail must fail (xfail is strict here).
    """
    for estimator, reasons in ESTIMATORS.items():
        for one in estimator_checks_generator(estimator, expected_failed_checks=reasons, mark="xfail"):
            _, check = one.values if hasattr(one, "values") else one
            if check.func.__name__ != "check_array_api_input":
                yield pytest.param(*(one.values if hasattr(one, "values") else one), marks=getattr(one, "marks", ()),
                                   id=f"{estimator!r}-{check.func.__name__}")  # fmt: skip


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_options_are_kept_as_given(estimator):
    assert estimator.get_params() == clone(estimator).get_params()


def test_an_unfitted_estimator_is_known_to_both():
    for error in (NotFittedError, sklearn.exceptions.NotFittedError):
        with pytest.raises(error, match="not fitted yet"):
            RelativeLeastSquares().intervals()


def test_groups_can_be_left_out_by_scikit_learn():
    rng = np.random.default_rng(0)
    matrix = rng.uniform(1, 10, (40, 3))
    times = matrix @ [1.0, 2.0, 3.0]
    scores = cross_val_score(
        RelativeLeastSquares(), matrix, times, groups=np.arange(40) % 5, cv=GroupKFold(5)
    )
    assert [1.0] * 5 == pytest.approx(scores)

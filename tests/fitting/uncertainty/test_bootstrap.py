"""Weights of groups drawn anew."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.fitting import RelativeLeastSquares
from perfmodel.fitting.design import Design
from perfmodel.fitting.uncertainty.bootstrap import bootstrap
from perfmodel.models import Family

TOY = Family("toy", "nowhere", ("launches", "op_float32_add", "barrier_local"))


def table(error_of_group: float) -> tuple[Design, list[int]]:
    rng = np.random.default_rng(0)
    groups = [i // 6 for i in range(120)]
    matrix = np.column_stack([np.ones(120), rng.uniform(0, 5, 120), np.zeros(120)])
    matrix[:6, 2] = 1  # one group alone
    wrong = np.repeat(rng.normal(0, error_of_group, 20), 6) + rng.normal(0, 0.02, 120)
    times = matrix @ [1.0, 2.0, 1.0] * (1 + wrong)
    names = ("launches", "op_float32_add", "barrier_local")
    return Design(names, matrix, times, ("",) * 120, 16), groups


def test_independent_rows_give_the_standard_errors_of_the_residuals():
    rows, _ = table(0.0)
    found = bootstrap(rows, TOY, range(120), draws=150, seed=1)
    expected = RelativeLeastSquares().fit(rows.matrix, rows.times).standard_errors_
    assert expected[:2] == pytest.approx(found.standard_errors[:2], rel=0.25)


def test_groups_that_err_together_widen_them():
    rows, groups = table(0.1)
    single = RelativeLeastSquares().fit(rows.matrix, rows.times).standard_errors_
    whole = bootstrap(rows, TOY, groups, draws=100, seed=1)
    assert whole.standard_errors[0] > 1.2 * single[0]
    low, high = whole.intervals(0.9).T
    assert (low[:2] < [1.0, 2.0]).all()
    assert (high[:2] > [1.0, 2.0]).all()


def test_a_weight_is_unknown_to_draws_without_its_group():
    rows, groups = table(0.05)
    found = bootstrap(rows, TOY, groups, draws=100, seed=1)
    assert TOY.select(rows.names) == tuple(sorted(found.names))
    missing = np.isnan(found.draws).mean(axis=0)
    assert 0 == missing[0] == missing[1]
    assert 0.2 < missing[2] < 0.55  # (1 - 1/20)^20 = 0.36


def test_one_draw_says_nothing_of_a_spread():
    rows, groups = table(0.05)
    found = bootstrap(rows, TOY, groups, draws=1)
    assert np.isinf(found.standard_errors).all()
    assert np.isinf(found.intervals()).all()


def test_the_seed_decides():
    rows, groups = table(0.05)
    one, same, other = (bootstrap(rows, TOY, groups, draws=3, seed=seed).draws for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other, equal_nan=True)

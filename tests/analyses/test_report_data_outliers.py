"""Outliers by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.analyses.report_data import fences, log_error, outliers_of
from perfmodel.compare import Comparison


def test_outliers_are_beyond_tukeys_fences():
    """Of the ratios 1, 2, 3, 4 the quartiles of log p/t are apart by less than a factor of 2; 100 is far outside."""
    rows = [Comparison("k", {"n": n}, 1e-3, 1e-3 * ratio) for n, ratio in enumerate((1.0, 2.0, 3.0, 4.0, 100.0))]
    wrong, withheld = Comparison("k", {"n": 9}, 1e-3, -1e-3), Comparison("k", {"n": 8}, 1e-3, None, ("op",))
    assert (rows[4],) == outliers_of(rows)
    assert (wrong, rows[4]) == outliers_of([*rows, wrong, withheld])
    assert () == outliers_of(rows[:4])
    assert () == outliers_of([])
    assert (wrong,) == outliers_of([wrong])


def test_fences_by_hand():
    """Of log(p/t) = 0, 1, 2, 3, 4 the quartiles are 1 and 3, so the fences are at 1 - 1.5 * 2 and 3 + 1.5 * 2."""
    rows = [Comparison("k", {"n": n}, 1.0, math.exp(n)) for n in range(5)]
    assert (-2.0, 6.0) == pytest.approx(fences(rows))
    assert (rows[4], rows[3]) == outliers_of(rows, (-2.5, 2.5))
    assert (0.0, 0.0) == fences([])


def test_the_error_of_a_prediction_that_is_no_time_is_infinite():
    assert [math.log(2), math.inf, math.inf] == [log_error(Comparison("k", {}, 1.0, p)) for p in (2.0, 0.0, -1.0)]

"""Outliers by hand."""

from __future__ import annotations

from perfmodel.analyses.outliers import outliers_of
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

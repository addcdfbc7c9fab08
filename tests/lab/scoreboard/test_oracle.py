"""What one factor for each variant leaves, by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.compare import Comparison
from scripts.lab.scoreboard.oracle import oracle_error


def test_a_factor_mends_the_price_and_not_the_scaling():
    # t/p is 1 and 4: the factor is their geometric mean, 2. Then 2 instead of 1 errs by 1, and 2 instead of 4 by 1/2.
    rows = [Comparison("a", {"n": 1}, 1.0, 1.0), Comparison("a", {"n": 2}, 4.0, 1.0)]
    assert pytest.approx(math.sqrt(1 * 0.5)) == oracle_error(rows)


def test_each_variant_has_its_own_factor():
    rows = [
        Comparison("a", {"n": n}, factor * n, float(n), variant={"tile": tile})
        for tile, factor in ((8, 3.0), (16, 0.2))
        for n in (1, 2)
    ]
    assert pytest.approx(1e-3) == oracle_error(rows)  # nothing is left, which counts as 0.1 %


def test_what_has_no_factor_is_left_out():
    single = Comparison("b", {"n": 1}, 5.0, 1.0)
    withheld = Comparison("a", {"n": 4}, 5.0, None, ("op_float32_add",))
    below = Comparison("a", {"n": 8}, 5.0, -1.0)
    pair = [Comparison("a", {"n": 1}, 1.0, 1.0), Comparison("a", {"n": 2}, 4.0, 1.0)]
    assert oracle_error(pair) == oracle_error([*pair, single, withheld, below])
    assert math.isnan(oracle_error([single, withheld, below]))

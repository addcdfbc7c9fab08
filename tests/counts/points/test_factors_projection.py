"""Projections of loop domains, against the enumeration of points, and isl's own elimination."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.points.factors import Projector

SET = isl.dim_type.set
DOMAINS = {
    "tiles": "[n] -> { [i, ii, j, jj, k] : 0 <= ii < 8 and 0 <= 8i + ii < n and 0 <= jj < 4 "
             "and 0 <= 4j + jj < n and 0 <= k < 3 }",
    "triangle": "[n] -> { [i, j, k] : 0 <= j <= i < n and 0 <= k < n - 2 }",
    "empty for small n": "[n] -> { [i, j] : 0 <= i < n and 5 <= j < n }",
    "floors": "[n] -> { [i, j] : 0 <= i < n and i mod 3 = 0 and 2j = i }",
    "a union": "[n] -> { [i, j] : 0 <= i < n and (j = i or 5 <= j < 9) }",
    "a condition": "[n] -> { [i, j] : 0 <= i < 4 and 0 <= j < 5 and n >= 7 }",
}


@pytest.mark.parametrize("text", DOMAINS.values(), ids=DOMAINS.keys())
def test_every_projection_is_that_of_the_whole(text):
    whole = isl.Set(text)
    projector = Projector(whole)
    names = whole.get_var_names(SET)
    for first in names:
        for kept in ([first], *([first, other] for other in names if other != first)):
            found = projector.onto(kept)
            assert kept == found.get_var_names(SET)
            expected = isl.Set(text).project_out_except(kept, [SET])
            if expected.get_var_names(SET) == kept:
                assert expected.is_equal(found)


def test_the_order_asked_for():
    whole = isl.Set("{ [i, j] : 0 <= i < 2 and 3 <= j < 7 }")
    assert isl.Set("{ [j, i] : 0 <= i < 2 and 3 <= j < 7 }").is_equal(
        Projector(whole).onto(["j", "i"])
    )


def test_what_is_projected_out_still_restricts_the_parameters():
    whole = isl.Set("[n] -> { [i, j] : 0 <= i < 4 and 5 <= j < n }")
    assert isl.Set("[n] -> { [i] : 0 <= i < 4 and n >= 6 }").is_equal(Projector(whole).onto(["i"]))

"""Values where assumptions hold, and which sizes break them."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import AssumptionError, SizeError

ASSUMED = isl.Set("[m, n] -> { : n >= 4 and m >= 1 }")
SUBJECT = Count(isl.PwQPolynomial("[n] -> { n*n }"), ASSUMED)


def test_parameters_of_assumptions_are_needed_too():
    for ask in (lambda sizes: SUBJECT(**sizes), SUBJECT.evaluate):
        with pytest.raises(SizeError, match=r"m.*left out"):
            ask({"n": 5})


def test_the_first_sizes_that_break_an_assumption():
    with pytest.raises(AssumptionError) as caught:
        SUBJECT.evaluate({"n": [5, 3, 9, 2], "m": 1})
    assert (1, 3) == caught.value.indices
    assert {"n": 3, "m": 1} == caught.value.values
    with pytest.raises(AssumptionError):
        SUBJECT(n=5, m=0)

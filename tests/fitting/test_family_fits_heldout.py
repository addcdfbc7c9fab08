"""Rows left out of the fit that predicts them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.fitting.family_fits import Refits
from tests.fitting.toy_design import TOY, table


def test_rows_are_predicted_without_their_group():
    found = Refits(table(), TOY).left_out(["one", "one", "two", "two", "three", "three"])
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert [True] * 4 + [False, True] == found.known.tolist()
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]


def test_rows_that_no_fit_may_see():
    """The last rows' times are wrong: a fit that saw them would mispredict the others."""
    wrong = replace(table(), times=table().times * [1, 1, 1, 1, 9, 9])
    found = Refits(wrong, TOY).left_out(["one", "one", "two", "two", "two", "new"], fitted=np.arange(4))
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]
    assert (("c",), ()) == found.of(np.array([4, 5])).needs


def test_too_few_rows_to_fit_withhold_everything():
    found = Refits(table(), TOY).left_out([0, 0, 0, 0, 1, 1])  # two rows for three features
    assert (*[("a", "b")] * 4, ("c",), ()) == found.needs

"""What is believed of variants from their predictions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.fitting.selection import Scatter
from perfmodel.tuning.belief import NORMAL, UNKNOWN_DEVIATION, belief_of


def prediction(seconds: float, **terms: float) -> SimpleNamespace:
    return SimpleNamespace(seconds=seconds, terms=terms)


def test_variants_stand_where_the_roots_of_their_shares_are():
    found = belief_of([prediction(4.0, a=1.0, b=3.0), prediction(2.0, b=2.0), prediction(9.0, a=9.0)], None)
    (places,) = found.likenesses
    assert places == pytest.approx(np.array([[0.5, np.sqrt(0.75)], [0.0, 1.0], [1.0, 0.0]]))
    assert (found.deviation, found.freedom) == (UNKNOWN_DEVIATION, 2)


def test_a_space_is_another_likeness_and_both_together_are_a_third():
    coordinates = np.array([[0.0], [1.0]])
    one = belief_of([prediction(1.0, a=1.0), prediction(2.0, a=2.0)], Scatter(deviation=0.1, cells=3), coordinates)
    assert [places.shape for places in one.likenesses] == [(2, 1), (2, 1), (2, 2)]
    assert (one.deviation, one.freedom) == (0.1, NORMAL)
    heavy = belief_of([prediction(1.0)], Scatter(deviation=0.1, freedom=2, cells=3))
    assert heavy.freedom == 2


def test_times_that_say_nothing_count_as_the_median():
    found = belief_of([prediction(one) for one in (1.0, -2.0, 5.0, np.inf, 3.0)], None)
    assert found.predicted.tolist() == [1.0, 3.0, 5.0, 3.0, 3.0]
    assert belief_of([prediction(-1.0), prediction(0.0)], None).predicted.tolist() == [1.0, 1.0]

"""How many groups determine a weight, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.fitting.local_scale import lack_of_support, support_of
from tests.fitting import by_hand


def test_support_is_the_number_of_groups_that_determine_a_weight():
    by_weight = np.array([[1.0, 0.0], [-2.0, 2.0], [3.0, 0.0], [0.0, 0.0], [np.nan, 1.0]])
    groups = ["a", "a", "b", "c", "c"]
    shares = [(1.0, 0.0), (0.5, 0.5), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    expected = by_hand.support(list(zip(groups, shares, strict=True)), 2)
    assert [(1 + 0.25) / 2 + 1, 0.25 / 2] == expected == support_of(by_weight, groups).tolist()
    # mixtures of what many groups have lack less than what few have; nothing known lacks most
    lacks = lack_of_support(by_weight, np.array([3.7, 0.7]))
    assert pytest.approx([0.5, math.sqrt(0.25 / 4 + 0.25 / 1), 0.5, 0.3**-0.5, 0.3**-0.5]) == lacks.tolist()

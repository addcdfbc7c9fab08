"""Guarded kernels leave out the last place of an axis."""

from __future__ import annotations

import numpy as np

from perfmodel.kernels.builders.memory import end, stored


def test_where_an_axis_ends():
    assert ["n", "n - 1"] == [end("n", guarded) for guarded in (False, True)]


def test_the_last_place_of_the_last_axis_keeps_its_contents():
    before = np.zeros((2, 3))
    assert [[1, 1, 0], [1, 1, 0]] == stored(np.ones((2, 3)), before, guarded=True).tolist()
    assert [[1, 1, 1], [1, 1, 1]] == stored(np.ones((2, 3)), before, guarded=False).tolist()
    assert not before.any()

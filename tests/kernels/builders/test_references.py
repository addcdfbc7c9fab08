"""What the output of shared kernels must be, by loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.kernels.builders.arithmetic import TERMS, potentials
from perfmodel.kernels.builders.memory import TILES, tile_sums
from perfmodel.kernels.builders.tiles import differences


def test_tile_sums_repeat_over_the_groups():
    a = np.arange(2 * TILES * 2, dtype=float).reshape(2, -1)
    expected = [sum(a[row, 2 * tile + lane] for row in range(2) for tile in range(TILES)) for lane in (0, 1)]
    assert expected * 3 == list(tile_sums({"a": a, "n": 6}, work_group=(2,))["out"])


def test_potentials_of_two_points():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]])  # at distance 3
    each = 1 / math.sqrt(0.5) + 1 / math.sqrt(9.5)
    assert pytest.approx([each, each]) == potentials({"x": x, "softening": 0.5})["potential"]


def test_differences_keep_the_border():
    u, result = np.arange(9.0).reshape(3, 3), np.full((3, 3), -1.0)
    found = differences({"u": u, "result": result, "source": 9.0})["result"]
    assert 4.0**2 + 9 - 4 * 4 + (7 + 1 + 5 + 3) == found[1, 1]
    assert 8 == (found == -1).sum()


@pytest.mark.parametrize(
    ("term", "expected"), [("rsqrt", 0.5), ("sqrt", 2), ("exp", math.exp(-4)), ("div", 0.375), ("mul", 1024)],
)
def test_terms_at_four(term, expected):
    assert pytest.approx(expected) == TERMS[term][1](4.0)

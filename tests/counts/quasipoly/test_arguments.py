"""Sizes are non-negative integers, of whatever type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from perfmodel.counts.quasipoly.arguments import whole, whole_array
from perfmodel.errors import SizeError


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), Fraction(3)])
def test_integers(value):
    found = whole("n", value, ("n",))
    assert 3 == found
    assert type(found) is int


@pytest.mark.parametrize("value", [1.5, "3", True, None, float("nan"), float("inf"), -1])
def test_no_sizes(value):
    with pytest.raises(SizeError, match=r"\bn\b"):
        whole("n", value, ("n",))


@pytest.mark.parametrize("values", [[1, 2], np.array([1.0, 2.0]), np.array([1, 2], np.uint8)])
def test_arrays(values):
    found = whole_array("n", values, ("n",))
    assert np.int64 == found.dtype
    assert [1, 2] == found.tolist()


@pytest.mark.parametrize("values", [[1, 2.5], [-1, 2], [1, float("nan")], [True, False]])
def test_no_arrays_of_sizes(values):
    with pytest.raises(SizeError, match=r"\bn\b"):
        whole_array("n", values, ("n",))

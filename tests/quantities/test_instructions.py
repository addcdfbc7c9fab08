"""Operations and instructions, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import fast_work, float_operations, fused_operations, instructions
from tests.models.test_roofline import counted
from tests.quantities.tiles import tile

#: Two products, three sums and an exponential for each of n work-items, with 4 loads and a store.
MIXED = "out[i] = a[i]*b[i] + 2*c[i] + 1 + exp(d[i])"


def test_an_addition_and_a_multiplication_are_fused():
    # Of two products and three sums two pairs are fused: 3 + 1 exponential.
    assert 4 * 640 == fused_operations(Case(counted("{[i]: 0 <= i < n}", MIXED), {"n": 640}))


def test_accesses_count_twice_as_instructions():
    # 4 operations, 5 accesses and 5 address computations.
    assert 14 * 640 == instructions(Case(counted("{[i]: 0 <= i < n}", MIXED), {"n": 640}))


def test_barriers_are_instructions():
    # Each work-item: two global and two local accesses with their addresses, and a barrier between
    # the local ones, unless each work-item loads what it stored itself.
    assert 9 * 640 == instructions(Case(tile(4), {"n": 640}))
    assert 8 * 640 == instructions(Case(tile(1), {"n": 640}))


@pytest.mark.parametrize(("dtype", "expected"), [(np.float32, (6 * 640, 0)), (np.float64, (0, 6 * 640))])
def test_floating_point_operations_by_peak(dtype, expected):
    assert expected == float_operations(Case(counted("{[i]: 0 <= i < n}", MIXED, dtype=dtype), {"n": 640}))


def test_fast_work_is_operations_and_local_accesses():
    assert 6 * 640 == fast_work(Case(counted("{[i]: 0 <= i < n}", MIXED), {"n": 640}))
    assert 2 * 640 == fast_work(Case(tile(1), {"n": 640}))  # a store and a load of the tile

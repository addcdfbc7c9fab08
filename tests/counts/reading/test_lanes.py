"""Distances between neighbouring lanes, worked out by hand."""

from __future__ import annotations

import islpy as isl
import pymbolic.primitives as p

from perfmodel.counts.program.program import Domain
from perfmodel.counts.reading.lanes import Lanes, quasi_polynomial

LANE, K, N = p.Variable("l"), p.Variable("k"), p.Variable("n")
DOMAIN = Domain(0, isl.Set("[n] -> { [l, k] : 0 <= l < 32 and 0 <= k < n }"), ("l.0", ""))
LANES = Lanes(DOMAIN, 32, ("n",))


def found(*indices, layout, unit_axis):
    return [
        (str(stride.distance), stride.along_unit_axis)
        for stride in LANES.strides(indices, layout, unit_axis)
    ]


def test_neighbours_in_a_vector() -> None:
    assert [("{ 1 }", 1)] == found(LANE + K, layout=(1,), unit_axis=0)
    assert [("{ 3 }", 3)] == found(K - 3 * LANE, layout=(1,), unit_axis=0)  # the absolute value
    assert [("{ 0 }", 0)] == found(2 * K, layout=(1,), unit_axis=0)


def test_rows_of_a_matrix() -> None:
    # a[l, k] with rows of n cells: lanes are n cells apart, and not along the unit axis
    assert [("[n] -> { n }", None)] == found(LANE, K, layout=(N, 1), unit_axis=1)
    # a[l, l]: one row and one column further
    assert [("[n] -> { (1 + n) }", None)] == found(LANE, LANE, layout=(N, 1), unit_axis=1)


def test_lanes_that_share_a_cell() -> None:
    # l // 2: lanes 0, 2, 4, ... have their neighbour in the same cell, lanes 1, 3, ... one cell ahead
    strides = LANES.strides((p.FloorDiv(LANE, 2),), (1,), 0)
    by_distance = {str(stride.distance): stride.within for stride in strides}
    assert {"{ 0 }", "{ 1 }"} == set(by_distance)
    lanes = {
        distance: sorted(
            k for k in range(32)
            if not where.intersect(isl.Set(f"[n] -> {{ [{k}, k] : 0 <= k < n }}")).is_empty()
        )
        for distance, where in by_distance.items()
    }
    # lane 31 is the last one: it takes the distance to lane 30, which is in its cell
    assert [*range(0, 32, 2), 31] == lanes["{ 0 }"]
    assert list(range(1, 31, 2)) == lanes["{ 1 }"]


def test_no_lanes_is_no_distance() -> None:
    alone = Lanes(Domain(0, isl.Set("[n] -> { [k] : 0 <= k < n }"), ("",)), 1, ("n",))
    (stride,) = alone.strides((K,), (1,), 0)
    assert ("{ 0 }", None, 0) == (str(stride.distance), stride.within, stride.along_unit_axis)


def test_products_of_parameters() -> None:
    assert isl.PwQPolynomial("[m, n] -> { (3*m*n + 1) }").plain_is_equal(
        quasi_polynomial(3 * p.Variable("m") * N + 1, ("m", "n"))
    )

"""Sweeps over sizes, against times worked out by hand and against rankings at one size."""

from __future__ import annotations

import pytest

from perfmodel.anchors import Anchor
from perfmodel.errors import AnchorError, AssumptionError, ParameterError, UnmeasuredFeatureError
from perfmodel.ranking import rank
from perfmodel.sweeps import sweep
from tests.priced import CUBE, MODEL, SQUARE, adding
from tests.test_ranking import SCATTERED

BOTH = {"cube": CUBE, "square": SQUARE}


def test_each_point_is_ranked():
    found, withheld = sweep(BOTH, MODEL, [{"n": 10}, {"n": 100}, {"n": 20}])
    assert {} == withheld
    assert [{"n": 10}, {"n": 100}, {"n": 20}] == [one.sizes for one in found]
    assert [["cube", "square"], ["square", "cube"], ["cube", "square"]] == [
        [v.name for v in one.variants] for one in found
    ]
    # additions and products take 1e-12 s
    assert pytest.approx([1e-9, 64e4 * 1e-12, 8e3 * 1e-12]) == [one.variants[0].seconds for one in found]
    assert pytest.approx(1e-9) == found[0].variants[0].terms["op_float32_add"]


def test_a_point_is_what_a_ranking_at_its_size_gives():
    found, _ = sweep(BOTH, SCATTERED, [{"n": 60}, {"n": 70}], level=0.8)
    for point in found:
        for swept, alone in zip(point.variants, rank(BOTH, SCATTERED, point.sizes, level=0.8), strict=True):
            assert (alone.name, alone.tied, alone.to_measure) == (swept.name, swept.tied, swept.to_measure)
            assert pytest.approx((alone.seconds, alone.fastest)) == (swept.seconds, swept.fastest)
            assert pytest.approx(alone.interval) == swept.interval


def test_two_names():
    grid = adding("n*m", parameters="m, n")
    points = [{"n": n, "m": m} for n in (1, 2) for m in (3, 5)]
    found, _ = sweep({"grid": grid}, MODEL, points)
    assert pytest.approx([3e-12, 5e-12, 6e-12, 1e-11]) == [one.variants[0].seconds for one in found]


def test_sizes_that_break_an_assumption_leave_that_variant_out():
    even = adding("n", "[n] -> { : n mod 2 = 0 }", "mul")
    found, _ = sweep({"cube": CUBE, "even": even}, MODEL, [{"n": 3}, {"n": 4}])
    assert [("even",), ()] == [one.broken for one in found]
    assert [["cube"], ["even", "cube"]] == [[v.name for v in one.variants] for one in found]
    with pytest.raises(AssumptionError):
        sweep({"even": even}, MODEL, [{"n": 3}, {"n": 5}])


def test_what_was_never_measured_is_withheld():
    found, withheld = sweep({"cube": CUBE, "divisions": adding("n", kind="div")}, MODEL, [{"n": 3}])
    assert (["divisions"], ["cube"]) == (list(withheld), [one.name for one in found[0].variants])
    with pytest.raises(UnmeasuredFeatureError):
        sweep({"divisions": adding("n", kind="div")}, MODEL, [{"n": 3}])
    with pytest.raises(ParameterError):
        sweep(BOTH, MODEL, [{"m": 3}])


def test_anchors_scale_all_points():
    anchor = Anchor("cube", "stand-in", {"n": 2}, 3e-12, 1e-12)
    found, _ = sweep({"cube": CUBE}, MODEL, [{"n": 10}, {"n": 20}], anchors={"cube": anchor})
    assert pytest.approx([3e-9, 24e-9]) == [one.variants[0].seconds for one in found]
    with pytest.raises(AnchorError):
        sweep(BOTH, MODEL, [{"n": 10}], anchors={"cube": anchor})

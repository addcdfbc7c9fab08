"""How often accesses are repeated and what they touch, by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import active_lanes, local_passes, segments
from tests.models.test_threaded_manycore import GTX480, counted

BANKS = GTX480.updated({"banks": Fact(32, "", "made up")})


def accesses(counts, space, direction):
    every = (one for issue in counts.issues for one in issue.accesses)
    return [one for one in every if (one.space, one.direction) == (space, direction)]


def through_a_tile(stride, dtype=np.float32):
    """Sub-groups that store one cell each to a tile, `stride` cells apart, and read it back."""
    unit = lp.make_kernel(
        "{ [g, l]: 0 <= l < 32 and 0 <= 32*g + l < n }",
        f"""
        for g, l
            tile[{stride}*l] = a[32*g + l] {{id=put}}
            out[32*g + l] = tile[{stride}*l] {{dep=put}}
        end
        """,
        [
            lp.GlobalArg("a, out", dtype, shape="n"),
            lp.TemporaryVariable("tile", dtype, shape=32 * stride, address_space=lp.AddressSpace.LOCAL), ...,
        ],
        assumptions="n >= 1 and n mod 32 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32)


@pytest.mark.parametrize(("stride", "each"), [(1, 1), (2, 2), (16, 16), (32, 32), (33, 1)])
def test_bank_conflicts_repeat_an_access(stride, each):
    counts = through_a_tile(stride)
    found = local_passes(Case(counts, {"n": 320}, BANKS), accesses(counts, "local", "load"))
    assert 10 * each == found  # ten sub-groups


def test_without_banks_a_wide_access_counts_its_words():
    counts = through_a_tile(32, np.float64)
    assert 20 == local_passes(Case(counts, {"n": 320}, GTX480), accesses(counts, "local", "load"))


@pytest.mark.parametrize(("index", "each"), [("i", 1), ("0*i", 1), ("2*i", 2), ("16*i", 16), ("100*i", 32)])
def test_segments_of_strided_loads(index, each):
    counts = counted(index)
    case = Case(counts, {"n": 640}, GTX480)
    assert 20 * each == segments(case, accesses(counts, "global", "load"), 128)
    assert 20 == segments(case, accesses(counts, "global", "store"), 128)
    assert 80 == segments(case, accesses(counts, "global", "store"), 32)


def test_where_data_decide_each_lane_counts():
    counts = counted("where[i]")
    loads = [one for one in accesses(counts, "global", "load") if one.array == "a"]
    case = Case(counts, {"n": 640}, GTX480)
    assert (640, 160) == (segments(case, loads, 128), segments(case, loads, 128, scattered=32))


def test_lanes_behind_a_guard_are_not_active():
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", np.float32, shape="n"), ...],
        assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    (load,) = accesses(counts, "global", "load")
    assert 70 / 3 == active_lanes(Case(counts, {"n": 70}, GTX480), load)  # sub-groups of 32, 32 and 6


def test_sizes_may_be_arrays():
    counts = counted("16*i")
    found = segments(Case(counts, {"n": np.array([64, 640])}, GTX480), accesses(counts, "global", "load"), 128)
    np.testing.assert_array_equal([32, 320], found)

"""Work-groups and work-items on a device, by hand and as Ma et al. (2014) print them."""

import pytest

from perfmodel.errors import FactsError
from perfmodel.quantities.case import (
    Case,
    active_groups,
    cores,
    groups_per_launch,
    items_held,
    launched,
    scheduling_factor,
)
from tests.models.test_threaded_manycore import ACTIVE, GTX480, counted, device, squaring
from tests.models.test_work_depth import case as at, chain, facts


@pytest.mark.parametrize(("known", "expected"), [
    ({}, 8),
    ({"max_groups_per_unit": 32}, 24),  # 1536 work-items of 64
    ({"max_groups_per_unit": 32, "registers_per_work_item": 40}, 12),  # 32768 registers
    ({"max_items_per_unit": 200}, 3),
    ({"max_items_per_unit": 32}, 1),  # one group always runs
    ({"local_memory_bytes": 0}, 8),  # not used
])  # fmt: skip
def test_equation_4(known, expected):
    assert expected == active_groups(Case(counted(), {"n": 64}, device(**known), ""))


@pytest.mark.parametrize("tile", sorted(ACTIVE))
def test_local_memory_limits_active_groups(tile):
    counts = squaring(tile)
    assert ACTIVE[tile] == active_groups(Case(counts, {"n": 512}, GTX480, ""))
    few = device(local_memory_bytes=2 * 8 * tile**2 + 7)
    assert min(2, ACTIVE[tile]) == active_groups(Case(counts, {"n": 512}, few, ""))


def test_a_core_is_a_lane():
    assert 128 == cores(at(chain(), n=1))
    assert 4 * 32 == cores(at(chain(), facts(lanes_per_unit=None), n=1))  # the sub-group's
    with pytest.raises(FactsError) as caught:
        cores(at(chain(), facts(compute_units=None), n=1))
    assert ("compute_units", "work_depth") == (caught.value.key, caught.value.family)


def test_a_launch_by_hand():
    # 640 work-items in work-groups of 48: with n = 480 there are 10 groups of 2 sub-groups, the second half empty.
    case = Case(counted(width=48), {"n": 480}, GTX480, "")
    assert (480, 20) == launched(case)
    assert 10 == groups_per_launch(case)


def test_work_items_held_by_the_gtx_480():
    # 8 work-groups of 64 on each of 15 multiprocessors.
    assert 8 * 64 * 15 == items_held(Case(counted(), {"n": 64}, GTX480, ""))


@pytest.mark.parametrize(("groups", "factor"), [(1, 15), (15, 1), (16, 30 / 16), (45, 1)])
def test_equation_3(groups, factor):
    # One work-group on each of 15 multiprocessors: ceil(B_r / 15) 15 / B_r.
    known = device(max_groups_per_unit=1)
    assert pytest.approx(factor) == scheduling_factor(Case(counted(), {"n": 64 * groups}, known, ""))

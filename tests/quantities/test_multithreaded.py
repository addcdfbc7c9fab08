"""What the busiest unit of a GTX 480 works through, by hand: a copy, strides, local memory, a chain, waves."""

from __future__ import annotations

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import FlowUnknownError, MissingFactError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.multithreaded import MULTITHREADED_UNITS, multithreaded_resources
from tests.models.test_threaded_manycore import GTX480, counted
from tests.quantities.test_traffic_subgroups import through_a_tile

CACHES = {"banks": 32, "l1_bytes": 2**14, "l2_bytes": 3 * 2**18}


def device(**known):
    return GTX480.updated({key: Fact(value, "", "made up") for key, value in known.items()})


def resources(counts, facts=None, **sizes):
    found = multithreaded_resources(Case(counts, sizes, facts or device(**CACHES), "toy"))
    assert set(MULTITHREADED_UNITS) == set(found)
    return {name: value for name, value in found.items() if np.any(value)}


def test_a_scaled_copy():
    # 30 groups of two sub-groups on 15 units: the busiest runs two groups, so four sub-groups, at the same time
    assert {
        "started": 1, "dealt_groups": 2,
        "straight_instructions": 4, "straight_passes": 4, "straight_near_lines": 4, "straight_store_lines": 4,
        "chain_instructions": 1, "chain_misses": 1,
    } == pytest.approx(resources(counted(), n=30 * 64))  # fmt: skip


def test_few_groups_leave_units_idle():
    # one group and fifteen groups load one unit alike; sixteen load one of them twice
    found = [resources(counted(), n=groups * 64)["straight_passes"] for groups in (1, 15, 16)]
    assert [2, 2, 4] == pytest.approx(found)


@pytest.mark.parametrize(("groups", "rounds"), [(15, 1), (15 * 8, 1), (15 * 12, 1.5), (15 * 80, 10)])
def test_rounds_repeat_the_chain(groups, rounds):
    # a unit holds eight groups of 64
    assert rounds == resources(counted(), n=groups * 64)["chain_misses"]


def test_strides_touch_more_lines():
    found = resources(counted("16*i"), n=30 * 64)
    assert (64, 64, 4) == pytest.approx([found[f"straight_{name}"] for name in ("passes", "near_lines", "store_lines")])


def test_data_outgrow_the_last_cache():
    # 480 * 64 columns of 64 bytes are 1.875 MiB, of which every line is loaded; stores touch 0.12 MiB
    filled = (480 * 64 * 64 + 480 * 64 * 4) / (3 * 2**18)
    assert filled > 1.5
    found = resources(counted("16*i"), n=480 * 64)
    assert 480 * 64 * 64 / 128 / 15 == pytest.approx(found["straight_memory_lines"])
    half = resources(counted("16*i"), device(**{**CACHES, "l2_bytes": int(filled * 3 * 2**18)}), n=480 * 64)
    assert 480 * 64 * 64 / 128 / 15 / 2 == pytest.approx(half["straight_memory_lines"], rel=1e-4)


def test_without_facts_of_caches_each_load_is_one_of_memory():
    found = resources(counted("0*i"), GTX480, n=30 * 64)
    assert (4, 4, 1 / 15) == pytest.approx(
        [found["straight_passes"], found["straight_near_lines"], found["straight_memory_lines"]]
    )


def test_bank_conflicts():
    # 30 sub-groups, two on the busiest unit: a load, and a store and a load of local memory 32 words apart
    found = resources(through_a_tile(32), n=960)
    assert 2 + 2 * 2 * 32 == pytest.approx(found["straight_passes"])


def chain():
    """Each work-item sums rsqrt of k cells."""
    unit = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, rsqrt(a[j]))",
        [lp.GlobalArg("a", np.float32, shape="k"), lp.GlobalArg("out", np.float32, shape="n"), ...],
        assumptions="n >= 1 and n mod 64 = 0 and k >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def test_a_chain_in_a_loop():
    found = resources(chain(), n=15 * 64, k=1000)
    # two sub-groups on a unit make 1000 turns each: an addition, two instructions of the turn, a load and an rsqrt
    assert (6000, 2000, 2000) == pytest.approx([found[f"loop_{name}"] for name in ("instructions", "rsqrt", "passes")])
    # one sub-group waits in each turn for the load, the rsqrt and the addition
    assert (3000, 1000) == pytest.approx([found["chain_instructions"], found["chain_rsqrt"]])
    # 1000 cells are 32 lines, of 2000 segments that the sub-groups of each unit load
    missed = 1000 * 32 / (15 * 2000)
    assert (1000 - missed, missed) == pytest.approx([found["chain_hits"], found["chain_misses"]])
    assert 2 == pytest.approx(found["straight_store_lines"])


def test_an_addition_and_a_multiplication_are_one_instruction():
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", "out[i] = a[i]*x + y",
        [lp.GlobalArg("a, out", np.float64, shape="n"), lp.ValueArg("x, y", np.float64), ...],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    found = resources(counts, n=15 * 64)
    assert (2, 1) == pytest.approx([found["straight_doubles"], found["chain_doubles"]])
    assert (4, 4) == pytest.approx([found["straight_passes"], found["straight_store_lines"]])  # 8 bytes a lane


def test_sizes_may_be_arrays():
    many = resources(chain(), n=np.array([960, 1920]), k=np.array([10, 1000]))
    for place, sizes in enumerate(({"n": 960, "k": 10}, {"n": 1920, "k": 1000})):
        few = resources(chain(), **sizes)
        for name, value in many.items():
            assert few.get(name, 0) == pytest.approx(np.broadcast_to(value, 2)[place])


def test_what_is_not_known():
    with pytest.raises(MissingFactError, match="compute_units"):
        resources(counted(), DeviceFacts("toy", "none", "0", ()), n=64)
    counts = counted()
    stored_before = replace(counts, source=replace(counts.program, dataflow=None))
    with pytest.raises(FlowUnknownError):
        resources(stored_before, n=64)

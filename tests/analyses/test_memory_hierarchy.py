"""Traces against executed code, hit rates against closed forms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.analyses.caches import CacheShape
from perfmodel.analyses.memory_hierarchy import Hierarchy, drawn_order, hit_rates
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.trace.trace import Trace, trace
from perfmodel.errors import (
    MissingFactError,
    ParameterError,
    TraceTooLongError,
    UntraceableError,
)
from perfmodel.facts import DeviceFacts, Fact
from tests import oracle
from tests.corpus import kernels

FLOAT = np.float32
LINE = 64
SMALL, LARGE = CacheShape(1024, LINE, 2), CacheShape(1 << 22, LINE, 16)
TRACED = (  # of the corpus: guards, triangles, tiles, ties, copies of statements, vectors, offsets, launches
    "scan_in_group", "guard_in_ilp", "matmul_tiled", "stencil_box_halo_remainder", "skewed_triangle",
    "array_of_structures", "array_offset", "loop_around_launches", "gather", "complex128",
    "if_expression_boundary", "barrier_in_triangle",
    "flattened_by_hand", "predicate_modulo", "fortran_order_across", "different_guards", "steps_by_parity",
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def counted(domain: str, code: str, *tags: tuple[str, int, str, str], **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types)
    for iname, length, outer, inner in tags:
        unit = lp.split_iname(unit, iname, length, outer_tag=outer, inner_tag=inner)
    return count(unit, cache=False)


def streaming() -> KernelCounts:
    return counted("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", ("i", 64, "g.0", "l.0"), x=FLOAT)


# {{{ traces

def executed_requests(executed: oracle.Executed, launches: list[int]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for instance in executed.instances:
        occurrence = instance.occurrence
        if occurrence.space not in ("global", "constant") or instance.launch not in launches:
            continue
        lanes: dict[int, set[int]] = {}
        for lane, address in instance.touched:
            lanes.setdefault(lane // 32, set()).add(address * occurrence.type.bits // 8 // LINE)
        for number, lines in lanes.items():
            for line in lines:
                where = (launches.index(instance.launch), instance.group, number)
                found[(*where, occurrence.array, occurrence.direction, line)] += 1
    return found


def traced_requests(traces: tuple[Trace, ...]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for launch, one in enumerate(traces):
        for group, number, array, store, line in zip(
            one.group, one.subgroup, one.array, one.store, one.line, strict=True
        ):
            direction = "store" if store else "load"
            found[launch, one.groups[group], number, one.arrays[array], direction, line - one.first[array]] += 1
    return found


@pytest.mark.parametrize("name", TRACED)
def test_trace_is_what_is_executed(name: str) -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == name)
    sizes = kernel.cases[0]
    counts = count(kernel.build(), 32)
    traces = trace(counts, sizes, 10**6, LINE)
    executed = oracle.execute(kernel.build(), sizes, 32, kernel.contents(sizes))
    names = [grid.kernel for grid in executed.launched]
    launches = [names.index(one.launch) for one in traces]
    expected, actual = executed_requests(executed, launches), traced_requests(traces)
    if all(one.exact for one in traces):
        assert expected == actual
    else:  # cells drawn, or tests on data taken to hold: as many requests at least
        assert {key[:5] for key in expected} <= {key[:5] for key in actual}


def test_requests_come_in_the_order_of_the_program() -> None:
    counts = counted(
        "{[i,k]: 0 <= i < n and 0 <= k < 2}", """
        for i
            <> total = start[i] {id=begin}
            for k
                total = total + a[k]*b[i] {id=add,dep=begin}
            end
            out[i] = total {dep=add}
        end
        """, ("i", 16, "g.0", "l.0"), start=FLOAT, a=FLOAT, b=FLOAT,
    )
    (one,) = trace(counts, {"n": 16})
    assert ["start", "a", "b", "a", "b", "out"] == [one.arrays[k] for k in one.array]
    assert [0, 0, 0, 0, 0, 1] == one.store.tolist()
    assert not one.phase.any()


def test_barriers_part_the_phases() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_tiled")
    (one,) = trace(count(kernel.build(), 32), {"n": 16}, 1)
    loads = {name: one.phase[one.array == one.arrays.index(name)] for name in one.arrays}
    (store,) = {int(phase) for phase in one.phase[one.store == 1]}
    assert max(loads["a"].max(), loads["b"].max()) < store
    assert len(set(loads["a"].tolist())) > 1  # a tile after another


def test_sampled_groups_follow_one_another_in_the_middle() -> None:
    (one,) = trace(streaming(), {"n": 64 * 100}, 4)
    assert (48, 49, 50, 51) == one.groups
    first = one.first[one.arrays.index("x")]
    lines = one.line[one.array == one.arrays.index("x")] - first
    assert list(range(48 * 4, 52 * 4)) == sorted(lines.tolist())


def test_what_cannot_be_traced() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "data_trip_count")
    assert kernel.statistics
    sizes = kernel.cases[0]
    with pytest.raises(UntraceableError, match="data decide"):
        trace(count(kernel.build(), 32, kernel.statistics(sizes)), sizes)
    with pytest.raises(ParameterError, match="'n' was left out"):
        trace(streaming(), {})
    sequential = counted("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", x=FLOAT)
    with pytest.raises(TraceTooLongError, match="take smaller sizes") as caught:
        trace(sequential, {"n": 10**8})
    assert 10**8 == caught.value.found > caught.value.most

# }}}


# {{{ orders and hit rates

def test_an_order_keeps_what_the_program_orders() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_tiled_16")
    (one,) = trace(count(kernel.build(), 32), {"n": 64}, 8)
    order = drawn_order(one, 2, 2, np.random.default_rng(1))
    assert list(range(len(one))) == sorted(order.tolist())
    for group in range(len(one.groups)):
        mine = order[one.group[order] == group]
        assert (np.diff(one.phase[mine]) >= 0).all()
        for number in set(one.subgroup.tolist()):
            assert (np.diff(mine[one.subgroup[mine] == number]) > 0).all()
    early, late = (np.flatnonzero(np.isin(one.group[order], groups)) for groups in ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert early.max() < late.min()  # two groups on each of two units, then the next


def test_a_stream_misses_once_a_line() -> None:
    """Each line is requested once by a sub-group of 32 floats and lines of 64 B: nothing hits."""
    rates = hit_rates(streaming(), {"n": 64 * 64}, Hierarchy(SMALL, LARGE))
    assert (1.0, 1.0) == (rates.miss_ratio_l1, rates.miss_ratio_l2)


@pytest.mark.parametrize("repeats", [2, 5])
def test_a_row_read_again_hits_but_the_first_time(repeats: int) -> None:
    """1 - fetches/requests: of r loads of each line r - 1 hit, and the store's line is missed once."""
    counts = counted(
        f"{{[i,k]: 0 <= i < n and 0 <= k < {repeats}}}", "y[i] = sum(k, x[i])", ("i", 32, "g.0", "l.0"), x=FLOAT
    )
    rates = hit_rates(counts, {"n": 32 * 8}, Hierarchy(CacheShape(1 << 14, LINE, 4), LARGE, units=8, resident=1))
    assert pytest.approx(1 - 2 / (repeats + 1)) == np.mean(rates.l1)
    assert 1.0 == rates.miss_ratio_l2


def test_what_fits_the_caches_has_cold_misses_only() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_naive")
    counts = count(kernel.build(), 32)
    sizes = {"n": 32}
    shape = CacheShape(1 << 20, LINE, 16)
    rates = hit_rates(counts, sizes, Hierarchy(shape, shape, units=1, resident=64), groups=10**6, orders=3)
    (one,) = trace(counts, sizes, 10**6, LINE)
    distinct = sum(counts.lines(name, LINE, "launch", **sizes)(**sizes) for name in ("a", "b", "c"))
    assert distinct == len(np.unique(one.line))
    assert pytest.approx(distinct / rates.requests) == rates.miss_ratio_l1
    assert 1.0 == rates.miss_ratio_l2
    assert (0.0, 0.0) == (np.ptp(rates.l1), np.ptp(rates.l2))


def test_units_share_the_second_level_on_a_gpu_only() -> None:
    counts = counted("{[i,k]: 0 <= i < n and 0 <= k < 64}", "y[i] = sum(k, x[k])", ("i", 32, "g.0", "l.0"), x=FLOAT)
    missed = [
        hit_rates(counts, {"n": 32 * 4}, Hierarchy(SMALL, LARGE, units=4, shared=shared), groups=4, orders=2)
        for shared in (True, False)
    ]
    rates = [{name: memory for name, _, memory in one.by_array}["x"] for one in missed]
    assert pytest.approx(4 * rates[0]) == rates[1]  # four lines of x, once or once for each unit


def test_equal_seeds_give_equal_rates_and_facts_name_the_ratios() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_naive")
    counts, hierarchy = count(kernel.build(), 32), Hierarchy(SMALL, LARGE)
    rates = hit_rates(counts, {"n": 64}, hierarchy, orders=10)
    assert rates == hit_rates(counts, {"n": 64}, hierarchy, orders=10)
    low, high = rates.interval("l1")
    assert low <= np.mean(rates.l1) <= high
    wider = rates.interval("l1", 0.99)
    assert wider[0] < low < high < wider[1]
    assert ["l1_miss_ratio", "l2_miss_ratio"] == list(rates.facts())
    assert rates.miss_ratio_l1 == rates.facts()["l1_miss_ratio"].value
    assert (0.0, 1.0) == hit_rates(counts, {"n": 64}, hierarchy, orders=1).interval("l2")


def test_data_dependent_accesses_of_a_gather_are_drawn_at_random() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "gather")
    rates = hit_rates(count(kernel.build(), 32), {"n": 4096}, Hierarchy(SMALL, LARGE), orders=4)
    assert 1 == len(rates.drawn)


def test_hierarchy_of_a_device() -> None:
    facts = {"l1_bytes": Fact(16384, "B", "test"), "l2_bytes": Fact(786432, "B", "test")}
    with pytest.raises(MissingFactError, match="cache_line_bytes"):
        Hierarchy.of(DeviceFacts.from_mapping("toy", "", "", facts))
    facts["cache_line_bytes"] = Fact(128, "B", "test")
    assert CacheShape(16384, 128, 8) == Hierarchy.of(DeviceFacts.from_mapping("toy", "", "", facts)).l1
    facts["device_type"] = Fact("cpu", "", "test")
    assert not Hierarchy.of(DeviceFacts.from_mapping("toy", "", "", facts)).shared

# }}}

"""Nests of kernels worked out by hand, and what holds for every kernel."""

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.nests.loops import Intervals
from perfmodel.counts.nests.nest import Nest
from perfmodel.counts.program.program import DECISIONS, Loop, Run, Wait
from tests.corpus import CorpusKernel, kernels
from tests.corpus.kernel import make
from tests.corpus.made import counted
from tests.corpus.matrix import tiled
from tests.counts.enumerated import enumerate_points, fixed

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")


def matmul(tile: int = 16) -> KernelCounts:
    """Count a product in which tiles of both factors are in local memory."""
    return count(tiled(f"n >= 1 and n mod {tile} = 0", tile), cache=False)


def operations(nest: Nest, **sizes: int) -> dict[tuple[str, str], int]:
    return {(row.dtype, row.kind): row.count(**sizes) for row in nest.operations}


def test_the_three_nests_of_a_tiled_product() -> None:
    fetch, update, store = [nest for nest in matmul().nests if nest.accesses]
    n = 64
    # each of n*n work-items fetches one cell of either tile in each of its n/16 steps
    assert (("k_outer",), (), n**3 // 16) == (fetch.loops.outer, fetch.loops.inner, fetch.iterations(n=n))
    assert (("k_outer",), ("k_inner",)) == (update.loops.outer, update.loops.inner)
    assert (n**3, n**3 // 16, n**3) == (update.iterations(n=n), update.entries(n=n), update.box(n=n))
    assert {("float32", "add"): n**3, ("float32", "mul"): n**3} == operations(update, n=n)
    # the sum lives over the barriers: it is loaded and stored in each update, and loaded for the store
    assert (0, 2 * n**3, n**2) == tuple(nest.kept(n=n) for nest in (fetch, update, store))
    assert ((), (), n**2) == (store.loops.outer, store.loops.inner, store.iterations(n=n))


@pytest.mark.parametrize(("test", "statistics", "sizes"), [
    ("t == 0", {}, {"t": 0}), ("t == 0", {}, {"t": 3}), ("i < t", {}, {"t": 0}), ("i >= t", {}, {"t": 3}),
    ("x[i] > 0", {"x[i] > 0": 0}, {}), ("x[i] > 0", {"x[i] > 0": 0.5}, {}),
])
def test_a_test_of_one_instruction_leaves_all_iterations(test: str, statistics: dict, sizes: dict) -> None:
    unit = make("{ [i]: 0 <= i < n }", f"for i\nif {test}\n  a[i] = x[i] {{id=w}}\nend\nb[i] = a[i] + 1 {{dep=w}}\nend",
                [lp.GlobalArg("a, b, x", np.float32, shape="n"), lp.ValueArg("n, t", np.int32)])  # fmt: skip
    counts = count(unit, statistics=statistics, cache=False)
    (nest,) = [nest for nest in counts.nests if nest.loops.inner and nest.accesses]
    assert (10, 10) == (nest.iterations(n=10, **sizes), nest.box(n=10, **sizes))


def test_trips_are_known_where_they_are_one_number() -> None:
    fetch, update, store = [nest for nest in matmul(8).nests if nest.accesses]
    assert (None, 8, None) == (fetch.trips, update.trips, store.trips)
    rows = make("{ [i, j]: 0 <= i < n and 0 <= j < m }", "out[i] = sum(j, a[i, j])",
                [lp.GlobalArg("a, out", np.float32, shape=lp.auto), lp.ValueArg("n, m", np.int32)])  # fmt: skip
    counts = count(lp.tag_inames(rows, "i:g.0"), cache=False)
    assert [None] * len(counts.nests) == [nest.trips for nest in counts.nests]


def test_the_sum_that_a_loop_carries() -> None:
    (carried,) = [each for nest in matmul().nests for each in nest.carried]
    assert ("k_inner", (((("float32", "add"), ()), 1),), 1) == (carried.loop, carried.terms, carried.chains)


def test_unrolled_loops_are_copies_with_chains_side_by_side() -> None:
    unit = make("{ [i, k, u]: 0 <= i, k < n and 0 <= u < 4 }", "c[i, u] = sum(k, a[i, k]*b[k, u])",
                [lp.GlobalArg("a", np.float32, shape="n, n"), lp.GlobalArg("b", np.float32, shape="n, 4"),
                 lp.GlobalArg("c", np.float32, shape="n, 4"), ...], assumes="n >= 1")  # fmt: skip
    unit = lp.tag_inames(unit, {"i": "g.0", "u": "ilp.unr"})
    (nest,) = [nest for nest in count(unit, cache=False).nests if nest.operations]
    assert ((("k",), ()), (100, 10)) == (
        (nest.loops.inner, nest.loops.outer), (nest.iterations(n=10), nest.entries(n=10))
    )
    assert {400} == {access.count(n=10) for access in nest.accesses}
    assert [4] == [carried.chains for carried in nest.carried]


def test_an_unrolled_loop_around_a_loop_makes_that_many_loops() -> None:
    """Loopy writes four loops, one after another: each adds a quarter of the row to the same sum."""
    unit = make("{ [i, k]: 0 <= i < n and 0 <= k < 4*m }", "c[i] = sum(k, a[i, k])",
                [lp.GlobalArg("a", np.float32, shape="n, 4*m"), lp.GlobalArg("c", np.float32, shape="n"), ...],
                assumes="n >= 1 and m >= 1")  # fmt: skip
    unit = lp.split_iname(lp.tag_inames(unit, {"i": "g.0"}), "k", 4, inner_tag="unr")
    unit = lp.prioritize_loops(unit, "k_inner, k_outer")
    assert 4 == lp.generate_code_v2(unit).device_code().count("for (")
    (nest,) = [nest for nest in count(unit, cache=False).nests if nest.loops.inner]
    point = {"n": 10, "m": 5}
    assert (10 * 4 * 5, 10 * 4, (10 * 4,)) == (
        nest.iterations(**point), nest.entries(**point), tuple(one(**point) for one in nest.entered)
    )
    assert ["k_outer"] == [carried.loop for carried in nest.carried]


def test_a_triangle_fills_half_of_its_box() -> None:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j <= i }", "y[i] = sum(j, a[i, j])",
                [lp.GlobalArg("a", np.float32, shape="n, n"), ...], assumes="n >= 1")  # fmt: skip
    nest = next(nest for nest in count(unit, cache=False).nests if "j" in nest.loops.inner)
    assert (55, 100, 10) == (nest.iterations(n=10), nest.box(n=10), nest.entries(n=10))


def test_an_iname_with_one_value_for_each_work_item_does_not_widen_the_box() -> None:
    unit = make(["{ [i, j]: 0 <= i, j < n }", "{ [k]: k = i + 5 and k < n }"], "b[k, j] = 2*a[i, j]",
                [lp.GlobalArg("a, b", np.float32, shape="n, n"), ...], assumes="n >= 6")  # fmt: skip
    unit = lp.split_iname(lp.split_iname(unit, "i", 8, outer_tag="g.0", inner_tag="l.0"), "j", 8, outer_tag="g.1")
    (nest,) = count(unit, cache=False).nests
    # j: 8 iterations of each of n - 5 rows in 8*ceil(n/8) work-items, for n/8 groups along j
    assert (27 * 32, 32 * 32) == (nest.iterations(n=32), nest.box(n=32))


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_nests_of_every_kernel_add_up_to_its_tables(kernel: CorpusKernel) -> None:
    for sizes in kernel.cases[:1]:
        counts = counted(kernel, sizes)
        given = {name: sizes[name] for name in counts.parameters}
        found = Counter[tuple[str, ...]]()
        for nest in counts.nests:
            for row in nest.operations:
                found[row.dtype, row.kind] += row.count(**given)
            for access in nest.accesses:
                found[access.space, access.direction, access.array] += access.count(**given)
            iterations, box = nest.iterations(**given), nest.box(**given)
            assert 0 <= nest.entries(**given) <= iterations
            assert iterations <= box or not nest.iterations.exact
        expected = Counter[tuple[str, ...]]()
        for row in counts.compiled.operation_table:
            if row.kind not in DECISIONS:
                expected[row.dtype, row.kind] += row.count(**given)
        for row in counts.access_table:
            expected[row.space, row.direction, row.array] += row.count(**given)
        assert {key: value for key, value in expected.items() if value} == {k: v for k, v in found.items() if v}
        for one in (access for issue in counts.issues for access in issue.accesses):
            together, alone = one.count(**given), one.items(**given)
            assert alone <= counts.subgroup_size * together
            assert together <= alone or not one.count.exact or not one.items.exact
        for space in ("global", "local"):
            parts = [one.count(**given) for issue in counts.issues for one in issue.accesses if one.space == space]
            assert counts.accesses(space, granularity="subgroup")(**given) == sum(parts)


def test_a_loop_with_barriers_is_around_its_intervals() -> None:
    body = (
        Run("start"),
        Loop("k", (Run("fetch"), Wait("local"), Loop("j", (Run("update"),)), Wait("local"))),
        Run("store"),
    )  # fmt: skip
    intervals = Intervals(0, body, ())
    found = [intervals.loops(position) for position in ((0,), (2, "k", 0), (2, "k", 4, "j", 0), (4,))]
    assert [0, 1, 2, 4] == [loops.interval for loops in found]
    assert [((), ()), (("k",), ()), (("k",), ("j",)), ((), ())] == [(loops.outer, loops.inner) for loops in found]


@pytest.mark.parametrize(("domain", "code", "assumptions", "expected"), [
    ("0 <= i < n and 0 <= j < m", "a[i, j] = 1", "n, m >= 1", {"l.0", "l.1"}),
    ("0 <= i < n and 0 <= j < m", "a[i, j] = 1", "n mod 4 = 0 and n, m >= 1", {"l.0"}),
    ("0 <= i < n and 0 <= j < m", "a[i, j] = 1", "m mod 8 = 0 and n, m >= 1", {"l.1"}),
    ("0 <= i < n and 0 <= j < m", "a[i, j] = 1", "n mod 4 = 0 and m mod 8 = 0 and n, m >= 1", set()),
    ("0 <= i < n and 0 <= j < m", "a[i, j] = 1 {if=j > 2}", "n mod 4 = 0 and m mod 8 = 0 and n, m >= 1", {"l.0"}),
    ("0 <= i < n and 0 <= j < m and j <= i", "a[i, j] = 1", "n mod 4 = 0 and n, m >= 1", {"l.0", "l.1"}),
])  # fmt: skip
def test_guarded_axes_are_those_along_which_some_group_is_not_whole(
    domain: str, code: str, assumptions: str, expected: set[str]
) -> None:
    unit = make(f"{{ [i, j]: {domain} }}", code,
                [lp.GlobalArg("a", np.float32, shape="n, m"), lp.ValueArg("n, m", np.int32)],
                assumes=assumptions)  # fmt: skip
    unit = lp.split_iname(unit, "i", 4, outer_tag="g.1", inner_tag="l.1")
    nest = only(count(lp.split_iname(unit, "j", 8, outer_tag="g.0", inner_tag="l.0"), cache=False).nests)
    assert expected == nest.guarded_axes
    # by brute force: in some launch, some row of work-items along the axis is not whole
    points, missing = nest.domains[0], set()
    for n, m in ((8, 16), (5, 16), (8, 13), (7, 9), (4, 8)):
        table, number = enumerate_points(fixed(points.points, {"n": n, "m": m}))
        names = dict(zip(points.axes, points.names, strict=True))
        for axis, items in (("l.0", 8), ("l.1", 4)):
            others = [table[name] for name in points.names if name != names[axis]]
            rows = Counter(zip(*(column.tolist() for column in others), strict=True)) if number else {}
            missing |= {axis} if any(length != items for length in rows.values()) else set()
    assert nest.guarded_axes == missing


def only(nests: tuple[Nest, ...]) -> Nest:
    (nest,) = nests
    return nest


def test_vectors_compute_what_a_test_of_data_leaves_out() -> None:
    unit = make("{ [i]: 0 <= i < n }", "out[i] = exp(a[i]) {if=mask[i] > 0}",
                [lp.GlobalArg("a, out", np.float32, shape="n"), lp.GlobalArg("mask", np.int32, shape="n"), ...],
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    nest = only(count(unit, statistics={"mask[i_inner + i_outer*64] > 0": 0.25}, cache=False).nests)
    assert {("float32", "exp"): 64} == operations(nest, n=256)
    assert [256] == [row.count(n=256) for row in nest.unmasked_operations]
    stores = [access for access in nest.accesses if access.direction == "store"]
    assert [(64, 256, True)] == [(each.count(n=256), each.unmasked(n=256), each.guarded) for each in stores]

"""Nests of kernels worked out by hand, and what holds for every kernel."""

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.lanes import addresses, values_at
from perfmodel.counts.nests.addresses import address_of
from perfmodel.counts.nests.loops import Intervals
from perfmodel.counts.nests.nest import Nest
from perfmodel.counts.program.program import DECISIONS, Loop, Run, Wait
from perfmodel.counts.quasipoly.count import Count
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
                "a: n, n; b, c: n, 4", assumes="n >= 1")  # fmt: skip
    unit = lp.tag_inames(unit, {"i": "g.0", "u": "ilp.unr"})
    (nest,) = [nest for nest in count(unit, cache=False).nests if nest.operations]
    assert ((("k",), ()), (100, 10)) == (
        (nest.loops.inner, nest.loops.outer), (nest.iterations(n=10), nest.entries(n=10))
    )
    assert {400} == {access.count(n=10) for access in nest.accesses}
    assert [4] == [carried.chains for carried in nest.carried]


def test_an_unrolled_loop_around_a_loop_makes_that_many_loops() -> None:
    """Loopy writes four loops, one after another: each adds a quarter of the row to the same sum."""
    unit = make("{ [i, k]: 0 <= i < n and 0 <= k < 4*m }", "c[i] = sum(k, a[i, k])", "a: n, 4*m; c: n",
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
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j <= i }", "y[i] = sum(j, a[i, j])", "a: n, n", assumes="n >= 1")
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
        Run("start"), Loop("k", (Run("fetch"), Wait("local"), Loop("j", (Run("update"),)), Wait("local"))),
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
    unit = make(f"{{ [i, j]: {domain} }}", code, "a: n, m", assumes=assumptions)
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
    unit = make("{ [i]: 0 <= i < n }", "out[i] = exp(a[i]) {if=mask[i] > 0}", "a, out: n; int32 mask: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    nest = only(count(unit, statistics={"mask[i_inner + i_outer*64] > 0": 0.25}, cache=False).nests)
    assert {("float32", "exp"): 64} == operations(nest, n=256)
    assert [256] == [row.count(n=256) for row in nest.unmasked_operations]
    stores = [access for access in nest.accesses if access.direction == "store"]
    assert [(64, 256, True)] == [(each.count(n=256), each.unmasked(n=256), each.guarded) for each in stores]


N, M = 64, 256
ROWS = "for r\n<> m = f[r] {{id=m}}\n{} {{id=b, dep=m}}\nend"
RAGGED = "for r\n<> lo = f[r] {{id=lo}}\n<> hi = f[r+1] {{id=hi}}\n{} {{id=b, dep=lo:hi}}\nend"


def made(domains: list[str], text: str, lanes: int = 0) -> KernelCounts:
    unit = make(domains, text, f"int32 f: {N}+1; a, b: {N}, {M}; v, w: {N}*{M} + 2")
    unit = (
        lp.split_iname(unit, "r", lanes, outer_tag="g.0", inner_tag="l.0")
        if lanes else lp.prioritize_loops(unit, "r, j")
    )
    return count(unit, statistics={"j": M} if len(domains) > 1 else None, cache=False)


def of_size(body: str, low: str = "0") -> KernelCounts:
    text = body if "sum" in body else f"for r, j\n{body}\nend"
    return made([f"{{[r, j]: 0 <= r < {N} and {low} <= j < {low} + {M}}}"], text)


@pytest.mark.parametrize("capacity", [1024, 16384, 2**22])
@pytest.mark.parametrize("body", [
    "a[r, j] = 1", "a[r, j] = b[r, j]", "a[r, j] = 2*b[r, M - j - 1]", "w[j] = v[j + 2]", "w[j] = v[j] + v[j + 1]",
    f"w[{M}*r + j] = v[{M}*r + j]", "a[r, 0] = sum(j, b[r, j])", "a[0, r] = sum(j, v[j])",
])  # fmt: skip
def test_loops_from_a_known_start(body, capacity):
    body = body.replace("M", str(M))
    known, data = of_size(body), made([f"{{[r]: 0 <= r < {N}}}", "{[j]: 0 <= j < m}"], ROWS.format(body))
    compare(known, data, capacity)


@pytest.mark.parametrize("body", ["w[j] = 2*v[j]", "a[0, r] = sum(j, v[j])"])
def test_rows_that_follow_one_another(body):
    known = of_size(body, low=f"{M}*r")
    data = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: lo <= j < hi}"], RAGGED.format(body))
    compare(known, data, 1024)
    for nest in (nest for nest in data.nests if "j" in nest.loops.inner):
        assert all(access.step("r") is None for access in nest.accesses if access.array in "vw")


def test_a_row_that_data_choose_moves_with_all_other_loops():
    text = "a[r, j] = b[f[r], j] + v[f[r]] + v[f[j // 4] + j] + v[f[f[r] + 1] + 2*j] {id=b}"
    counts = made([f"{{[r, j]: 0 <= r < {N} and 0 <= j < {M}}}"], f"for r, j\n{text}\nend")
    nest = next(nest for nest in counts.nests if "j" in nest.loops.inner)
    steps = [(access.step("r"), access.step("j")) for access in nest.accesses if access.array in "bv"]
    found = [tuple(None if step is None else int(step()) for step in pair) for pair in steps]
    assert sorted(found, key=str) == sorted([(None, 4), (None, 0), (0, None), (None, 8)], key=str)
    addresses = [access.address for access in nest.accesses if access.array == "v"]
    assert 3 == len({address.base for address in addresses if address is not None})  # no two are known to be equal


def compare(known: KernelCounts, data: KernelCounts, capacity: int) -> None:
    arrays = [array for array in ("a", "b", "v", "w") if array in {row.array for row in known.access_table}]
    for array in arrays:
        lines = [counts.traffic(array, capacity, order="serial")() for counts in (known, data)]
        assert lines[1].fetched == pytest.approx(lines[0].fetched, rel=0.05, abs=2)
    (nest,) = [nest for nest in known.nests if nest.loops.inner[-1:] == ("j",)]
    (other,) = [nest for nest in data.nests if nest.loops.inner[-1:] == ("j",)]
    assert float(nest.entries()) == float(other.entries())
    assert float(nest.iterations()) == float(other.iterations())
    assert other.trips is None
    steps = [
        sorted((a.array, a.direction, str(a.step("j"))) for a in each.accesses if a.array in arrays)
        for each in (nest, other)
    ]
    assert steps[0] == steps[1]


def test_lanes_beside_a_loop_from_a_known_start_have_their_stride():
    data = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: 0 <= j < m}"], ROWS.format("a[r, j] = b[j, r] + v[j]"), lanes=16)
    strides = {row.array: None if row.indirect else row.stride() for row in data.access_table}
    assert {"f": 1, "a": M, "b": 1, "v": 0} == strides
    text = RAGGED.format("a[0, r] = sum(j, v[j])")
    ragged = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: lo <= j < hi}"], text, lanes=16)
    assert [True] == [row.indirect for row in ragged.access_table if row.array == "v"]


def test_steps_and_start_are_functions_of_the_sizes() -> None:
    unit = make("{ [i, j]: 0 <= i, j < n }", "b[i, j] = a[j, n - 1 - i]", "float64 a, b: n, n", assumes="n >= 1")
    load = next((d, a) for d, a in count(unit, cache=False).access_maps if a.array == "a")
    address = address_of(load[1], load[0])
    assert address is not None
    # 8 bytes a cell, n cells a row: row j, column n - 1 - i
    assert ("8*n - 8", "-8", "8*n", "0") == tuple(
        map(str, (address.start, address.step("i"), address.step("j"), address.step("k")))
    )


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_every_affine_address_is_that_of_the_cell(kernel: CorpusKernel) -> None:
    sizes = kernel.cases[0]
    counts = counted(kernel, sizes)
    check(counts, {name: sizes[name] for name in counts.parameters})


def check(counts: KernelCounts, sizes: dict[str, int]) -> None:
    for domain, access in counts.access_maps:
        address = address_of(access, domain)
        if address is None or access.cells is None:
            continue
        points = fixed(domain.points, sizes)
        columns, number = enumerate_points(points)
        expected = values_at(addresses(access, access.cells, points, sizes), columns, number) * access.bits // 8
        start = Count(address.start.polynomial, granularity="byte", signed=frozenset(sizes))  # offsets may be negative
        found = np.full(number, int(start(**sizes)))
        for name, column in columns.items():
            found = found + int(address.step(name)(**sizes)) * column
        assert expected.tolist() == found.tolist()

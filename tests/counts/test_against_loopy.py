"""Comparison with Loopy's statistics: the kernels of its own tests, and where ours differs and why.

The first part states the kernels of Loopy's ``test/test_statistics.py`` and the numbers that it
expects, as formulas; the second is docs/lab/loopy-statistics.md, claim by claim, with the
oracle as the judge.
"""

from collections.abc import Callable
from typing import Any

import loopy as lp
import pymbolic.primitives as p
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import CountError
from perfmodel.libraries import with_main
from tests.corpus import kernels
from tests.corpus.kernel import C64, F32, F64, I32, line, make
from tests.oracle import execute

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")
CORPUS = {kernel.name: kernel for kernel in kernels()}
N, M, L = 512, 256, 128
SIZES = {"n": N, "m": M, "ell": L}
S = 32
BOX = "{[i,k,j]: 0<=i<n and 0<=k<m and 0<=j<ell}"
POSITIVE = "n,m,ell >= 1"
MIXED_TYPES = {"a,b": F32, "g,h": F64}


def value(counted: Any, sizes: dict[str, int]) -> int:
    assert counted.exact
    return int(counted(**sizes))


def operations(counts: KernelCounts, sizes: dict[str, int]) -> dict[tuple[str, str], int]:
    return {(row.dtype, row.kind): value(row.count, sizes) for row in counts.operation_table}


def accesses(
    counts: KernelCounts, sizes: dict[str, int], granularity: str = "workitem"
) -> dict[tuple[str, str, str], int]:
    keys = {(row.space, row.direction, row.array) for row in counts.access_table}
    return {key: value(counts.accesses(*key, granularity=granularity), sizes) for key in keys}


def peer_operations(unit: Any, sizes: dict[str, int]) -> dict[tuple[str, str], int]:
    """By type and name, at sub-group granularity; zero rows left out."""
    found = lp.get_op_map(unit, True, False, subgroup_size=S)
    by_type = {(key.dtype.numpy_dtype.name, key.name): value.eval_with_dict(sizes) for key, value in found.items()}
    return {key: number for key, number in by_type.items() if number}


def peer_accesses(unit: Any, sizes: dict[str, int]) -> dict[tuple[str, str, str, str], int]:
    """By memory, direction, array and granularity."""
    total: dict[tuple[str, str, str, str], int] = {}
    for key, amount in lp.get_mem_access_map(unit, True, subgroup_size=S).items():
        place = (key.mtype, key.direction, key.variable, key.count_granularity)
        total[place] = total.get(place, 0) + amount.eval_with_dict(sizes)
    return total


def peer_synchronization(unit: Any, sizes: dict[str, int]) -> dict[str, int]:
    found = lp.get_synchronization_map(unit, subgroup_size=S)
    return {key.kind: amount.eval_with_dict(sizes) for key, amount in found.items()}


def executed(unit: Any, sizes: dict[str, int]) -> Any:
    return execute(unit, sizes, S)


def loads(result: Any, array: str, granularity: str = "accesses") -> int:
    return sum(n for key, n in getattr(result, granularity).items() if key[1:3] == ("load", array))


def box(statements: str, dtypes: dict[str, Any], **options: Any) -> Any:
    return make(BOX, statements, assumes=POSITIVE, dtypes=dtypes, **options)


BASIC = "c[i, j, k] = a[i,j,k]*b[i,j,k]/3.0 + a[i,j,k]\n"
SPECIAL = """
    c[i, j, k] = (2*a[i,j,k]) % (2 + b[i,j,k]/3.0)
    e[i, k] = (1 + g[i,k])**(1 + h[i,k+1])
"""
BITS = """
    c[i, j, k] = (a[i,j,k] | 1) + (b[i,j,k] & 1)
    e[i, k] = (g[i,k] ^ k)*(~h[i,k+1]) + (g[i,k] << (h[i,k] >> k))
"""
CONSECUTIVE = BASIC + "e[i, k] = g[i,k]*(2 + h[i,k])"


def product() -> Any:
    return box("c[i, j] = sum(k, a[i, k]*b[k, j])", {"a,b": F32})


def parallel_product(prefetch: bool) -> Any:
    unit = line(line(product(), "i", 16, 1), "j", 16, 0)
    unit = lp.split_iname(unit, "k", 16)
    if prefetch:
        unit = lp.add_prefetch(unit, "a", ["k_inner", "i_inner"], default_tag="l.auto")
        unit = lp.add_prefetch(unit, "b", ["j_inner", "k_inner"], default_tag="l.auto")
    return unit


@pytest.mark.parametrize(("statements", "dtypes", "expected"), [
    (
        BASIC + "e[i, k+1] = -g[i,k]*h[i,k+1]",
        MIXED_TYPES,
        {("float64", "mul"): N * M, **dict.fromkeys([("float32", k) for k in ("add", "mul", "div")], N * M * L)},
    ),
    (
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        {"a,b": F32},
        {("float32", "add"): N * M * L, ("float32", "mul"): N * M * L},
    ),
    (
        SPECIAL.rstrip() + " + rsqrt(g[i,k])*sin(g[i,k])",
        MIXED_TYPES,
        {
            ("float32", "div"): 2 * N * M * L,  # the remainder is a division
            ("float32", "mul"): N * M * L, ("float32", "add"): N * M * L, ("float64", "add"): 3 * N * M,
            **dict.fromkeys([("float64", kind) for kind in ("mul", "pow", "rsqrt", "sin")], N * M),
        },
    ),
])  # fmt: skip
def test_operations(statements: str, dtypes: dict[str, Any], expected: dict[tuple[str, str], int]) -> None:
    unit = box(statements, dtypes)
    assert expected == operations(count(unit, S), SIZES)
    assert expected == {
        (dtype, name.removeprefix("func:")): n for (dtype, name), n in peer_operations(unit, SIZES).items()
    }


def test_a_triangle() -> None:
    unit = make("{[i,j]: 0<=i<n and 0<=j<m and i<j}", "a[i, j] = b[i,j]*2", assumes="n,m>=1", dtypes={"b": F64})
    sizes = {"n": 200, "m": 13}
    assert {("float64", "mul"): 13 * 12 // 2} == operations(count(unit, S), sizes) == peer_operations(unit, sizes)


@pytest.mark.parametrize(("statements", "dtypes", "expected"), [
    (
        BASIC + "e[i, k] = g[i,k]*h[i,k+1]",
        MIXED_TYPES,
        {"a": 2 * N * M * L, "b": N * M * L, "g": N * M, "h": N * M, "c": N * M * L, "e": N * M},
    ),
    ("c[i, j] = sum(k, a[i, k]*b[k, j])", {"a,b": F32}, {"a": N * M * L, "b": N * M * L, "c": N * L}),
    (
        SPECIAL,
        MIXED_TYPES,
        {"a": N * M * L, "b": N * M * L, "g": N * M, "h": N * M, "c": N * M * L, "e": N * M},
    ),
    (
        BITS,
        {"a,b,g,h": I32},
        {"a": N * M * L, "b": N * M * L, "g": 2 * N * M, "h": 2 * N * M, "c": N * M * L, "e": N * M},
    ),
])  # fmt: skip
def test_accesses_without_lanes(statements: str, dtypes: dict[str, Any], expected: dict[str, int]) -> None:
    """One work-item in one group: the three granularities are the same."""
    unit = box(statements, dtypes)
    counts = count(unit, S)
    for granularity in ("workitem", "subgroup", "workgroup"):
        found = accesses(counts, SIZES, granularity)
        assert expected == {array: number for (_, _, array), number in found.items()}
    assert expected == {array: number for (_, _, array, _), number in peer_accesses(unit, SIZES).items()}


def test_barriers_in_loops() -> None:
    """Two in each of 500 iterations; ours are met by each of 97 work-items."""
    unit = make(
        "{[i,k,j]: 0<=i<50 and 1<=k<98 and 0<=j<10}",
        "c[i,j,k] = 2*a[i,j,k] {id=first}\ne[i,j,k] = c[i,j,k+1] + c[i,j,k-1] {dep=first}",
        [lp.TemporaryVariable("c", shape=(50, 10, 99)), ...], dtypes={"a": I32},
    )  # fmt: skip
    unit = lp.split_iname(unit, "k", 128, inner_tag="l.0")
    assert 50 * 10 * 2 * 97 == count(unit, S).barriers()()
    assert 50 * 10 * 2 == peer_synchronization(unit, {})["barrier_local"]


def test_tiled_matrix_product() -> None:
    unit = parallel_product(prefetch=True)
    counts, items = count(unit, S), N * L
    sub_groups = N * L // S
    assert items * 2 * M // 16 == value(counts.barriers(), SIZES)
    assert {"kernel_launch": 1, "barrier_local": 2 * M // 16} == peer_synchronization(unit, SIZES)
    assert 2 * M * sub_groups == value(counts.operations("float32"), SIZES) // S
    assert 2 * M * sub_groups == sum(n for (dtype, _), n in peer_operations(unit, SIZES).items() if dtype == "float32")
    peer = peer_accesses(unit, SIZES)
    for array in ("a", "b"):
        assert N * M * L // 16 == value(counts.accesses("global", "load", array), SIZES)
        assert N * M * L // 16 == peer["global", "load", array, "workitem"]
        for direction, number in (("load", M * sub_groups), ("store", M * sub_groups // 16)):
            fetched = f"{array}_fetch"
            assert number == value(counts.accesses("local", direction, fetched, granularity="subgroup"), SIZES)
            assert number == peer["local", direction, fetched, "subgroup"]
    assert N * L == value(counts.accesses("global", "store", "c"), SIZES) == peer["global", "store", "c", "workitem"]


MATVEC = "y[i] = sum(j, A[i,j]*x[j])"


@pytest.mark.parametrize(("domain", "call", "shape", "callee", "calls"), [
    ("{:}", "y[:] = matvec(A[:,:], x[:])", (20,), ("{[i,j]: 0<=i,j<20}", [...]), 1),
    ("{[i]: 0<=i<20}", "y[i,:] = matvec(A[:,:], x[i,:])", (20, 20), ("{[i,j]: 0<=i,j<20}", [...]), 20),
    (
        "{[i]: 0<=i<20}",
        "y[i,:] = matvec(20, A[:,:], x[i,:])",
        (20, 20),
        ("{[i,j]: 0<=i,j<n}", [lp.ValueArg("n"), ...]),
        20,
    ),
])  # fmt: skip
def test_callees(domain: str, call: str, shape: tuple[int, ...], callee: tuple[str, list[Any]], calls: int) -> None:
    function = lp.make_function(callee[0], MATVEC, callee[1], name="matvec", lang_version=(2018, 2))
    arrays = [lp.GlobalArg("x,y", F64, shape=shape), lp.GlobalArg("A", F64, shape=(20, 20))]
    unit = lp.merge([make(domain, call, arrays, name="caller"), function])
    assert 400 * calls == count(unit, S).operations("float64", "add")()
    assert 400 * calls == peer_operations(unit, {})["float64", "add"]


def test_predicates() -> None:
    """``if i >= 3``: the peer counts all 21 work-items."""
    unit, sizes = CORPUS["predicate_affine"].build(), {"n": 21}
    truth = loads(executed(unit, sizes), "a")
    assert 18 == truth == value(count(unit, S).accesses(array="a"), sizes)
    assert 21 == peer_accesses(unit, sizes)["global", "load", "a", "workitem"]


def test_loads_in_predicates_are_lost() -> None:
    arguments = [lp.GlobalArg("a,b,c", F32, shape="n"), ...]
    unit = line(make("{[i]: 0<=i<n}", "if b[i] > 0\n  c[i] = a[i]\nend", arguments, assumes="n>=1"))
    sizes = {"n": 16}
    assert 16 == loads(executed(unit, sizes), "b") == value(count(unit, S).accesses(array="b"), sizes)
    assert ("global", "load", "b", "workitem") not in peer_accesses(unit, sizes)


def test_branches_of_if_expressions() -> None:
    """``if(i < 5, a[i]*2, a[i] + b[i])``: the peer adds both branches."""
    unit, sizes = CORPUS["if_expression_affine"].build(), {"n": 21}
    counts, truth = count(unit, S), executed(unit, sizes)
    assert (21, 16) == (loads(truth, "a"), loads(truth, "b"))
    assert (21, 16) == tuple(value(counts.accesses(array=array), sizes) for array in "ab")
    peer = peer_accesses(unit, sizes)
    assert (42, 21) == tuple(peer["global", "load", array, "workitem"] for array in "ab")


@pytest.mark.parametrize(("n", "truth", "peer"), [(8, 12, 16), (16, 80, 96), (24, 252, 288)])
def test_sub_groups_of_triangles(n: int, truth: int, peer: int) -> None:
    """The two sub-groups of a group hold different rows, so their loops differ in length."""
    unit, sizes = CORPUS["trmm"].build(), {"n": n}
    assert truth == loads(executed(unit, sizes), "a", "subgroup_accesses")
    assert truth == value(count(unit, S).accesses(array="a", granularity="subgroup"), sizes)
    assert peer == peer_accesses(unit, sizes)["global", "load", "a", "subgroup"]


def test_sub_groups_that_are_all_idle() -> None:
    """Of 65 lanes for 128 cells the second group has 63: two of its three sub-groups are active."""
    statement = "c[i, j, k] = a[i,j,k] + x[i,k]"
    unit = box(statement, {"a,x": F32})
    unit = lp.split_iname(unit, "j", 65, outer_tag="g.0", inner_tag="l.0")
    sizes = {"n": 3, "m": 2, "ell": 128}
    truth = loads(executed(unit, sizes), "x", "subgroup_accesses")
    assert 3 * 2 * (3 + 2) == truth
    assert truth == value(count(unit, S).accesses(array="x", granularity="subgroup"), sizes)
    assert 3 * 2 * (3 + 3) == peer_accesses(unit, sizes)["global", "load", "x", "subgroup"]


def test_barriers_of_triangles() -> None:
    """Group g of 6 has 2*(g+1) barriers for 8 work-items; the peer counts the last group's."""
    unit, sizes = CORPUS["barrier_in_triangle"].build(), {"n": 6}
    truth = 8 * sum(2 * (g + 1) for g in range(6))
    assert truth == executed(unit, sizes).barriers == value(count(unit, S).barriers(), sizes)
    assert 2 * 6 == peer_synchronization(unit, sizes)["barrier_local"]


def test_axes_of_another_device_kernel() -> None:
    """The first and third of three kernels have no axis 1; the peer repeats them along the second's."""
    unit, sizes = CORPUS["three_kernels"].build(), {"n": 8}
    truth, counts, peer = executed(unit, sizes), count(unit, S), peer_accesses(unit, sizes)
    for array, direction, right, wrong in (("a", "load", 16, 128), ("b", "store", 8, 64), ("d", "store", 8, 64)):
        key = ("global", direction, array)
        assert right == sum(n for found, n in truth.accesses.items() if found[:3] == key)
        assert right == value(counts.accesses(*key), sizes)
        assert wrong == peer[(*key, "workitem")]


@pytest.mark.filterwarnings("ignore:_IndexStrideCoefficientCollector:UserWarning")
@pytest.mark.parametrize(("index", "cells", "ours", "peer"), [
    ("i % 4", "4", {"1": 52, "3": 12}, -3), ("i // 2", "n", {"0": 36, "1": 28}, 1),
])  # fmt: skip
def test_cyclic_and_divided_indices(index: str, cells: str, ours: dict[str, int], peer: int) -> None:
    """Four groups of 16 lanes: of 15 steps to the next lane three wrap around."""
    arguments = [lp.GlobalArg("a", F32, shape="n"), lp.GlobalArg("b", F32, shape=cells), ...]
    unit = line(make("{[i]: 0<=i<n}", f"a[i] = b[{index}]", arguments, assumes="n>=1"))
    rows = [row for row in count(unit, S).access_table if row.array == "b"]
    assert ours == {str(row.stride): value(row.count, {"n": 64}) for row in rows}
    (histogram,) = executed(unit, {"n": 64}).strides_by_occurrence("b", "load").values()
    assert {int(stride) for stride in ours} == set(histogram)
    found = lp.get_mem_access_map(unit, True, subgroup_size=S)
    assert [{0: peer}] == [dict(key.lid_strides) for key in found.count_map if key.variable == "b"]


def test_square() -> None:
    """The generated code multiplies and loads twice; the peer counts a power and one load."""
    unit = line(make("{[i]: 0<=i<n}", "a[i] = b[i]**2", assumes="n>=1", dtypes={"b": F32}))
    sizes = {"n": 64}
    truth = executed(unit, sizes)
    assert (128, {("float32", "mul"): 64}) == (loads(truth, "b"), truth.operations)
    assert {("float32", "mul"): 64} == operations(count(unit, S), sizes)
    assert 128 == value(count(unit, S).accesses(array="b"), sizes)
    assert 4 == peer_operations(unit, sizes)["float32", "pow"]
    assert 64 == peer_accesses(unit, sizes)["global", "load", "b", "workitem"]


def test_complex_arithmetic() -> None:
    """A complex product is four products and two sums of real numbers; the peer counts one complex one."""
    unit = line(make("{[i]: 0<=i<n}", "a[i] = b[i]*c[i]", assumes="n>=1", dtypes={"b,c": C64}))
    assert {("float32", "mul"): 256, ("float32", "add"): 128} == operations(count(unit, S), {"n": 64})
    assert 64 // S * 2 == peer_operations(unit, {"n": 64})["complex64", "mul"]


def test_a_work_group_whose_shape_is_a_parameter() -> None:
    """A kernel of the peer's own tests: its lanes are as many as a parameter says."""
    unit = lp.tag_inames(box(CONSECUTIVE, MIXED_TYPES), {"k": "l.0", "i": "g.0", "j": "g.1"})
    with pytest.raises(CountError, match="give one value of the size, as in -p"):
        count(unit, S)


Crash = Callable[[Any], object]


def minimum() -> Any:
    i, a, b, c = (p.Variable(name) for name in "iabc")
    unit = make("{[i]: 0<=i<n}", [lp.Assignment(a[i], p.Min((b[i], c[i])))], assumes="n>=1")
    return line(lp.add_dtypes(unit, {"b": F32, "c": F32}))


def simple(statement: str, *arrays: Any) -> Any:
    return line(make("{[i]: 0<=i<n}", statement, [*arrays, ...], assumes="n>=1"))


def scalar_array() -> Any:
    arrays = [lp.GlobalArg("s", F32, shape=()), lp.GlobalArg("a", F32, shape="n"), ...]
    return make("{[i]: 0<=i<n}", "s = 1.5f\na[i] = 2*s", arrays, assumes="n>=1", seq_dependencies=True)


def gather() -> Any:
    return simple("a[i] = b[ind[i]]", lp.GlobalArg("a,b", F32, shape="n"), lp.GlobalArg("ind", I32, shape="n"))


def exponential() -> Any:
    return simple("a[i] = exp(b[i])", lp.GlobalArg("a,b", F32, shape="n"))


def callee() -> Any:
    return CORPUS["callee"].build()


def op(unit: Any) -> object:
    return lp.get_op_map(unit, True, subgroup_size=S)


def mem(unit: Any) -> object:
    return lp.get_mem_access_map(unit, True, subgroup_size=S)


@pytest.mark.parametrize(("build", "counter", "error"), [
    (minimum, op, "TypeError"), (scalar_array, mem, "ValueError"), (gather, mem, "ValueError"),
    (gather, lp.gather_access_footprints, "LoopyError" if with_main() else "UnableToDetermineAccessRangeError"),
    (exponential, lp.gather_access_footprints, "UnsupportedExpressionError"), (callee, mem, "TypeError"),
    (callee, lp.gather_access_footprints, "NotImplementedError"),
])  # fmt: skip
def test_counters_that_crash(build: Callable[[], Any], counter: Crash, error: str) -> None:
    """Ours counts the kernel as it is executed; one of the peer's four counters fails."""
    unit, sizes = build(), {"n": 32}
    counts, truth = count(unit, S), executed(unit, sizes)
    assert truth.operations == operations(counts, sizes)
    for (_, direction, array, *_), number in truth.accesses.items():
        assert number == value(counts.accesses("global", direction, array), sizes)
    with pytest.raises(Exception) as crash:  # noqa: PT011 (whatever it is: its name is compared)
        counter(unit)
    assert error == type(crash.value).__name__


def test_c_instructions() -> None:
    """Opaque code: ours asks for the operations, the peer says that there are none."""
    opaque = lp.CInstruction("i", "a[i] = 2*b[i];", read_variables=frozenset({"b"}), assignees=("a[i]",), id="twice")
    arrays = [lp.GlobalArg("a,b", F32, shape="n"), ...]
    unit = line(lp.make_kernel("{[i]: 0<=i<n}", [opaque], arrays, assumptions="n>=1", lang_version=(2018, 2)))
    with pytest.raises(CountError, match="twice"):
        count(unit, S)
    does = {"operations": {("float32", "mul"): 1}, "loads": {"b[i]": 1}, "stores": {"a[i]": 1}}
    declared = count(unit, S, declared={"twice": does})
    assert 64 == value(declared.accesses(direction="load"), {"n": 64})
    assert 64 == value(declared.operations("float32", "mul"), {"n": 64})
    assert ({}, {}) == (peer_operations(unit, {"n": 64}), peer_accesses(unit, {"n": 64}))


def test_assumptions() -> None:
    """The peer counts whole tiles as if n could be anything: its text is long, ours is not."""
    unit = CORPUS["stencil_box_halo"].build()
    ours = str(count(unit, S).accesses("local", "store", granularity="workitem"))
    (peer,) = (
        str(amount) for key, amount in lp.get_mem_access_map(unit, True, subgroup_size=S).items()
        if (key.mtype, key.direction) == ("local", "store")
    )
    assert 40 > len(ours)
    assert 4 * len(ours) < len(peer)

"""The oracle against numbers worked out by hand, and its results against NumPy."""

import itertools
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np
import pytest
from pycparser import c_parser

from tests.corpus import kernels
from tests.corpus.kernel import make
from tests.oracle import UnsupportedCode, execute, run
from tests.oracle.compare import gathered
from tests.oracle.dtypes import CType
from tests.oracle.functions import call
from tests.oracle.oclgrind import parse, quantities
from tests.oracle.source import Program
from tests.oracle.translate import kernel_code

CORPUS = {kernel.name: kernel for kernel in kernels()}


def executed(name: str, subgroup_size: int = 32, **parameters: int) -> Any:
    kernel = CORPUS[name]
    return execute(kernel.build(), parameters, subgroup_size, kernel.contents(parameters))


def loads(result: Any, array: str) -> int:
    return sum(count for key, count in result.accesses.items() if key[1:3] == ("load", array))


@pytest.mark.parametrize("n", [1, 8, 13])
def test_matrix_product(n: int) -> None:
    result = executed("matmul_naive", n=n)
    assert {("float32", "add"): n**3, ("float32", "mul"): n**3} == result.operations
    assert {
        ("global", "load", "a", "float32", 32): n**3, ("global", "load", "b", "float32", 32): n**3,
        ("global", "store", "c", "float32", 32): n**2
    } == result.accesses  # fmt: skip
    groups = (-(-n // 8)) ** 2
    assert (1, groups, 64 * groups, 2 * groups) == (
        result.launches, result.work_groups, result.work_items, result.sub_groups
    )  # fmt: skip
    assert 64 * groups - n**2 == result.idle_work_items
    assert n**2 == result.footprint("a")


@pytest.mark.parametrize("n", [8, 16, 24])
def test_tiled_matrix_product(n: int) -> None:
    result = executed("matmul_tiled", n=n)
    tiles = n // 8
    assert tiles**3 * 64 == result.accesses["global", "load", "a", "float32", 32]
    assert n**3 == result.accesses["local", "load", "b_fetch", "float32", 32]
    assert 2 * tiles * n**2 == result.barriers  # two in each step, met by every work-item
    # Each of the two sub-groups of a group fetches four rows of eight floats: half a line each.
    assert tiles**3 * 2 * 4 == result.lines("a", 64, "instance", row=n)
    assert 2 * tiles**3 == result.subgroup_accesses["global", "load", "a", "float32", 32]
    assert tiles**3 == result.workgroup_accesses["global", "load", "a", "float32", 32]


@pytest.mark.parametrize("n", [1, 8, 11])
def test_triangular_product(n: int) -> None:
    assert n * n * (n + 1) // 2 == executed("trmm", n=n).operations["float32", "add"]


def test_triangle_over_lanes_at_each_granularity() -> None:
    """Lane i runs i+1 iterations, so of n=8 lanes some are active in each of 8 iterations."""
    result = executed("trmm_lower_lane", n=8)
    key = ("global", "load", "a", "float32", 32)
    assert 8 * 36 == result.accesses[key]
    assert 2 * 8 == result.subgroup_accesses[key]  # two sub-groups of four columns each
    assert 8 == result.workgroup_accesses[key]


@pytest.mark.parametrize("n", [8, 16])
def test_halos(n: int) -> None:
    groups = (n // 8) ** 2
    assert groups * 100 == loads(executed("stencil_box_halo", n=n), "u")
    assert groups * 96 == loads(executed("stencil_cross_halo", n=n), "u")
    assert (n + 2) ** 2 == executed("stencil_box_halo", n=n).footprint("u")
    assert (n + 2) ** 2 - 4 == executed("stencil_cross_halo", n=n).footprint("u")


def test_predicates_exclude_operations_and_loads() -> None:
    result = executed("predicate_affine", n=21)
    assert {("float32", "mul"): 18} == result.operations
    assert {("global", "load", "a", "float32", 32): 18, ("global", "store", "c", "float32", 32): 18} == result.accesses
    otherwise = executed("predicate_else", n=21, m=5)
    assert {("float32", "add"): 21, ("float32", "mul"): 16} == otherwise.operations
    assert 16 == loads(otherwise, "b")
    assert 5 + 2 * 16 == loads(otherwise, "a")


def test_only_the_taken_branch_of_an_if_expression_counts() -> None:
    result = executed("if_expression_affine", n=21)
    assert {("float32", "mul"): 5, ("float32", "add"): 16, ("float32", "select"): 21} == result.operations
    assert 16 == loads(result, "b")


def test_short_circuit_of_a_data_predicate() -> None:
    unit = make("{[i]: 0<=i<8}", "c[i] = 1 if i >= 2 and a[i] > 0 else 2", "a, c: 8")
    assert 6 == loads(execute(unit, {}), "a")


def test_data_dependent_loop() -> None:
    kernel = CORPUS["csr_product"]
    parameters = {"n": 20}
    entries = int(kernel.contents(parameters)["rows"][-1])
    result = executed("csr_product", n=20)
    assert {("float32", "add"): entries, ("float32", "mul"): entries} == result.operations
    assert (40, entries, entries) == (loads(result, "rows"), loads(result, "columns"), loads(result, "x"))


@pytest.mark.parametrize(("name", "stride"), [
    ("copy_stride_1", 1), ("stride_2_of_1", 2), ("stride_3_of_1", 3), ("stride_8_of_1", 8), ("reversed_index", 1),
])  # fmt: skip
def test_lane_strides(name: str, stride: int) -> None:
    result = executed(name, n=32)
    assert {stride: 30} == result.lane_strides("a")  # two groups of 16 lanes: 15 pairs each
    assert 32 == result.footprint("a")


def test_lines_of_strided_access() -> None:
    """16 lanes of 4 bytes at a stride of 3: 48 floats, 192 bytes, 3 lines of 64."""
    assert 2 * 3 == executed("stride_3_of_1", n=32).lines("a", 64, "instance")
    result = executed("stride_3_of_3", n=32)
    assert 2 * 3 * 3 == result.lines("a", 64, "instance")
    assert 2 * 3 == result.lines("a", 64, "workgroup") == result.lines("a", 64, "launch")
    assert 96 == result.footprint("a")


@pytest.mark.parametrize(("name", "words"), [
    ("banks_stride_1", 1), ("banks_stride_2", 2), ("banks_stride_3", 1), ("banks_stride_32", 32), ("banks_float64", 2),
])  # fmt: skip
def test_bank_conflicts(name: str, words: int) -> None:
    """One store and one load by the one sub-group of each of two groups."""
    assert 4 * words == executed(name, n=2).bank_conflicts("tile")


def test_padding_a_tile_removes_conflicts() -> None:
    """A sub-group of 32 reads two columns of 16 rows: words 16*row + column fall 8 at a time into 4 banks.

    With rows of 17 words only two of the 32 words share a bank (0 and 17*15 + 1).
    """
    assert 8 * 8 == executed("transpose_tiled", n=16).bank_conflicts("a_fetch", direction="load")
    assert 8 * 2 == executed("transpose_padded", n=16).bank_conflicts("a_fetch", direction="load")


def test_reduction_in_a_group() -> None:
    """32 lanes, stages of 16, 8, 4, 2 and 1 after one addition of each lane's own term; 5 barriers."""
    result = executed("sum_in_group", n=3)
    assert {("float32", "add"): 3 * (32 + 31)} == result.operations
    assert 3 * 32 * 5 == result.barriers
    assert 3 * (32 + 31) == result.accesses["local", "load", "acc_j", "float32", 32]


def test_barriers_in_a_loop_of_the_groups_length() -> None:
    """Group g runs g+1 iterations with one barrier after and one before each, none before the first of all."""
    result = executed("barrier_in_triangle", n=6)
    assert sum(8 * 2 * (group + 1) for group in range(6)) == result.barriers


def test_several_device_kernels() -> None:
    result = executed("two_kernels", n=21, m=11)
    assert ("loopy_kernel", "loopy_kernel_0") == tuple(grid.kernel for grid in result.launched)
    assert (2, 2 + 2, 32 + 16) == (result.launches, result.work_groups, result.work_items)
    assert {("float32", "mul"): 21, ("float32", "add"): 11} == result.operations
    assert 6 == executed("loop_around_launches").launches


def test_callee_accesses_count_under_the_callers_array() -> None:
    result = executed("callee_twice", n=7)
    assert (56, 3 * 56) == (loads(result, "x"), loads(result, "y"))
    assert {("float32", "add"): 4 * 56, ("float32", "mul"): 4 * 56} == result.operations


def test_vector_accesses_count_once_and_operations_by_lane() -> None:
    result = executed("vector_lanes", n=11)
    assert {("float32", "add"): 44, ("float32", "mul"): 44} == result.operations
    assert 11 == result.accesses["global", "load", "a", "float32", 128]


def test_complex_arithmetic_counts_real_operations() -> None:
    """a*b + a - b: a complex product is 4 mul and 2 add, a sum 2 add."""
    result = executed("complex64", n=16)
    assert {("float32", "mul"): 16 * 4, ("float32", "add"): 16 * 6} == result.operations
    assert 32 == result.accesses["global", "load", "a", "complex64", 64]


def test_types_as_c_computes_them() -> None:
    assert {("float64", "mul"): 16, ("float64", "add"): 16} == executed("mixed_types", n=16).operations
    assert {("float32", "add"): 16, ("float64", "add"): 16} == executed("mixed_sum_narrow_first", n=16).operations
    assert {("int32", "div"): 32, ("int32", "add"): 16} == executed("integer_division", n=16).operations
    typed = {("uint32", "add"): 16, ("uint64", "add"): 16, ("int32", "add"): 16, ("int64", "add"): 16}
    assert typed == executed("typed_constants", n=16).operations
    assert ("pow", CType("uint8"), (("uint8", "pow", 1),)) == call("loopy_pow_uint8_uint8", (), False)


def test_powers_as_the_generated_code_computes_them() -> None:
    """x**2 is x*x (with x loaded twice), x**3 and x**0.5 are calls."""
    result = executed("small_powers", n=16)
    assert {("float32", "mul"): 16, ("float32", "pow"): 32, ("float32", "add"): 32} == result.operations
    assert 64 == loads(result, "a")


def test_index_arithmetic_is_left_out() -> None:
    assert {} == executed("cyclic_and_divided", n=16).operations


def test_floating_point_arithmetic_on_inames_counts() -> None:
    """a[i]*i with i split is ``a[...] * (lid(0) + gid(0) * 16.0f)``: two products and a sum."""
    expected = {("float32", "mul"): 32, ("float32", "add"): 16}
    assert expected == executed("index_as_value", n=16).operations


def test_groups_that_do_not_fill_their_sub_groups() -> None:
    """12x3 items: sub-groups of 32 and of 4."""
    result = executed("wide_groups", n=6, m=24)
    assert (4, 144, 8) == (result.work_groups, result.work_items, result.sub_groups)
    assert 4 * 28 == result.padded_lanes
    assert 8 == result.subgroup_accesses["global", "load", "a", "float64", 64]


def test_mean_trips_of_loops_that_data_bounds() -> None:
    """Rows of 1, 4, 2, 0, 3 entries and so on: two in the mean; the loop over groups is bounded by a size."""
    assert (("j", Fraction(2)),) == executed("csr_product", n=20).mean_trips
    assert () == executed("matmul_naive", n=3).mean_trips


def test_division_by_zero_ends_nothing() -> None:
    unit = make("{[i]: 0<=i<4}", "out[i] = 1/a[i]", [lp.GlobalArg("a,out", np.float64, shape=4)])
    memory = run(unit, {}, arrays={"a": np.array([0.0, 2.0, 0.0, 4.0])})[1]["out"]
    assert [np.inf, 0.5, np.inf, 0.25] == [memory[address] for address in range(4)]


def test_arrays_passed_in_parts_are_gathered() -> None:
    unit = make(
        "{[i]: 0<=i<n}", "out[i] = a[0, i] + a[1, i]",
        [lp.GlobalArg("a", np.float64, shape="2, n", dim_tags="sep,C"), lp.GlobalArg("out", np.float64), ...],
    )
    result = gathered(execute(unit, {"n": 7}), {"a", "out"})
    assert [("a", "load"), ("out", "store")] == sorted(result.arrays("global"))
    assert (14, 2) == (result.footprint("a"), result.lines("a", 64, "launch"))


def test_a_function_that_calls_a_library_is_one_operation() -> None:
    text = """
        double wave(double z, double *second) { *second = bessel_j1(z); return bessel_j0(z); }
        void k(double *out) { double w; out[0] = 2.0*wave(0.5, &w) + w; }
    """
    tree = c_parser.CParser().parse(text)
    code = kernel_code(Program({node.decl.name: node for node in tree.ext}, (), "", "", {}), "k")
    assert {("float64", "wave"): 1, ("float64", "mul"): 1, ("float64", "add"): 1} == sum(code.sites, Counter())


def test_an_atomic_update_is_a_load_and_a_store() -> None:
    unit = make("{[i]: 0<=i<20}", "out[i % 4] = out[i % 4] + a[i] {atomic}", [
        lp.GlobalArg("out", np.float32, shape=(4,), for_atomic=True), lp.GlobalArg("a", np.float32, shape=(20,)), ...,
    ])
    result, memory = run(unit, {}, arrays={"a": np.arange(20.0), "out": np.zeros(4)})
    assert {("float32", "add"): 20} == result.operations
    assert {"load": 20, "store": 20} == {key[1]: times for key, times in result.accesses.items() if key[2] == "out"}
    assert [40, 45, 50, 55] == [memory["out"][address] for address in range(4)]  # 0 + 4 + 8 + 12 + 16, ...


def test_parts_of_a_shared_storage_have_names_of_their_own() -> None:
    shared = {"shape": (4,), "base_storage": "both", "address_space": lp.AddressSpace.LOCAL, "dtype": np.float32}
    temporaries = [lp.TemporaryVariable(name, _base_storage_access_may_be_aliasing=True, **shared) for name in "st"]
    unit = make("{[i, j]: 0<=i, j<4}", """
        s[i] = a[i] {id=first}
        t[j] = s[j] {id=second, dep=first}
        out[j] = t[j] {dep=second, nosync=first}
    """, [lp.GlobalArg("a,out", np.float32, shape=(4,)), *temporaries])
    result = execute(lp.allocate_temporaries_for_base_storage(unit), {})
    assert {("s", "load"): 4, ("s", "store"): 4, ("t", "load"): 4, ("t", "store"): 4} == {
        (key[2], key[1]): times for key, times in result.accesses.items() if key[0] == "local"
    }


def test_the_scalar_product_of_vectors_is_one_operation() -> None:
    tree = c_parser.CParser().parse("""
        typedef int float4;
        void k(float4 *a, float *out) { out[0] = 2.0f*dot(a[0], a[1]); }
    """)
    code = kernel_code(Program({tree.ext[1].decl.name: tree.ext[1]}, (), "", "", {}), "k")
    assert {("float32", "dot"): 1, ("float32", "mul"): 1} == sum(code.sites, Counter())


def test_unknown_functions_are_refused() -> None:
    unit = make("{[i]: 0<=i<8}", [lp.CInstruction("i", "frobnicate(i);")], [...])
    with pytest.raises(UnsupportedCode, match="frobnicate"):
        execute(unit, {})


def test_oclgrind_rows_are_added_up() -> None:
    text = """
=== some_kernel
Instructions executed for kernel 'loopy_kernel':
           1,672 - bitcast
              84 - call llvm.memcpy.p0i8.p1i8.i64()
              63 - call _Z3fmafff()
              20 - call _Z4fmaxff()
              16 - call _Z12get_group_idj()
              10 - fadd
               5 - fsub
               4 - load global (16 bytes)
               2 - call _Z7barrierj()

Instructions executed for kernel 'loopy_kernel_0':
               1 - fadd
"""
    found = quantities(parse(text)["some_kernel"])
    assert (63 + 16, 63, 20, 88, 2) == tuple(
        found[name] for name in ("floating-point add", "floating-point mul", "functions", "global loads", "barriers")
    )


def test_products_with_minus_one_are_counted_separately() -> None:
    """The one subtraction in ``.. - 4*u[..]`` becomes the sum with ``-1.0f*4.0f*u[..]``."""
    assert 128 == executed("stencil_5_point", n=8, m=16).negations


def result_of(
    name: str, parameters: Mapping[str, int], arrays: Mapping[str, Any], output: str, shape: tuple[int, ...]
) -> Any:
    memory = run(CORPUS[name].build(), parameters, arrays=arrays)[1][output]
    return np.array([memory[address] for address in range(int(np.prod(shape)))]).reshape(shape)


def random(*shape: int) -> Any:
    return np.random.default_rng(7).uniform(0.5, 1.5, shape)


@pytest.mark.parametrize("name", ["matmul_naive", "matmul_tiled_remainder", "matmul_split_unprefetched"])
def test_matrix_product_is_right(name: str) -> None:
    a, b = random(11, 11), random(11, 11) - 1
    np.testing.assert_allclose(a @ b, result_of(name, {"n": 11}, {"a": a, "b": b}, "c", (11, 11)))


def test_group_reduction_and_scan_are_right() -> None:
    a = random(3, 13)
    np.testing.assert_allclose(a.sum(axis=1), result_of("sum_in_group_odd", {"n": 3}, {"a": a}, "c", (3,)))
    b = random(16)
    np.testing.assert_allclose(np.cumsum(b), result_of("scan_in_group", {}, {"a": b}, "c", (16,)))
    np.testing.assert_equal(random(32).argmax(), result_of("index_of_maximum", {}, {"a": random(32)}, "where", (1,))[0])


def test_sparse_product_is_right() -> None:
    parameters = {"n": 20}
    arrays = dict(CORPUS["csr_product"].contents(parameters))
    rows, columns = arrays["rows"], arrays["columns"]
    arrays |= {"values": random(rows[-1]), "x": random(20)}
    expected = [
        arrays["values"][first:last] @ arrays["x"][columns[first:last]]
        for first, last in itertools.pairwise(rows)
    ]
    np.testing.assert_allclose(expected, result_of("csr_product", parameters, arrays, "y", (20,)))


def test_complex_and_vector_results_are_right() -> None:
    a, b = random(16) + 1j, random(16) - 2j
    np.testing.assert_allclose(a * b + a - b, result_of("complex64", {"n": 16}, {"a": a, "b": b}, "c", (16,)))
    u, v = random(11, 4), random(11, 4)
    memory = run(CORPUS["vector_lanes"].build(), {"n": 11}, arrays={"a": u, "b": v})[1]["c"]
    np.testing.assert_allclose(2 * u + v, [memory[address] for address in range(11)])

"""A kernel as its compiler sees it."""

import loopy as lp
import pytest

from perfmodel import count
from perfmodel.quantities.bottleneck.compiled import compiled_kernel
from tests.corpus.kernel import make
from tests.quantities.bottleneck.by_hand import kernel, quantities, row_sums


def test_addresses_a_constant_apart_are_computed_together() -> None:
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[i] + a[i + 1] + a[i + n] + a[i + n + 7]", "a: 3*n; out: n"
    )
    assert 2 == compiled_kernel(counts).tree.launches[0].separate_addresses  # a near 0, a near n


def test_rows_of_planes_are_not_rows_of_a_matrix() -> None:
    """A stencil of five rows, of which three lie in other planes of an array of three axes."""
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[1, 1, i] + a[1, 0, i] + a[1, 2, i] + a[0, 1, i] + a[2, 1, i]",
        "a: 3, n, n; out: n",
    )  # fmt: skip
    assert 1 == compiled_kernel(counts).tree.launches[0].separate_addresses  # a[0, 1, i] starts at n, all others at n*n


@pytest.mark.parametrize(("right", "cells", "vectors"), [
    ("a[i] + a[i + 1] + a[i + 2]", 2, True), ("a[i] + a[i + 1] + a[i + 2]", 4, False),
    ("a[i] + b[i]", 4, True), ("a[i] + b[i]", 7, True), ("a[i] + b[i]", 8, False), ("a[i] + b[i]", 12, True),
    ("a[i + 3]", 8, True),  # no index of a is one of the output
    ("a[i] + a[i + 1] + a[i + 2] + a[i + 3]", 2, False), ("a[i] + a[i + 1]", 3, True), ("1", 8, True),
])  # fmt: skip
def test_pocl_packs_work_items_unless_it_packs_the_addresses_of_their_cells(
    right: str, cells: int, vectors: bool
) -> None:
    """``vectors`` is what PoCL 3.1 reports with POCL_VECTORIZER_REMARKS=1."""
    unit = make("[n] -> { [i]: 0 <= i < n }", f"out[i] = {right}", "a: n + 8; b: n; out: n",
                assumes=f"n >= 1 and n mod {64 * cells} = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64 * cells, outer_tag="g.0")
    unit = lp.split_iname(unit, "i_inner", 64, inner_tag="l.0", outer_tag="unr")
    assert vectors == compiled_kernel(count(unit, 16)).tree.launches[0].packs_items(wide=True)


@pytest.mark.parametrize(("right", "pitch", "cells", "between", "vectors"), [
    ("a[r, i]", "n", 4, False, True), ("a[r, i]", "n", 8, False, False), ("a[r, i]", "n + 8", 8, False, True),
    ("a[r, i]", "n + 8", 8, True, False), ("a[r, i] + a[r + 1, i]", "n + 8", 4, True, False),
    ("a[r, i] + a[r, i + 1]", "n + 8", 4, True, True), ("a[r, i] + a[r, i + 1]", "n + 8", 8, True, False),
    ("a[r, i]*w[k[0] + i]", "n + 8", 8, False, True),  # no cell moves w
])  # fmt: skip
def test_pocl_packs_the_addresses_of_cells_with_work_items_between_them(
    right: str, pitch: str, cells: int, between: bool, vectors: bool
) -> None:
    """``vectors`` is what PoCL 3.1 reports for groups of 64 by 4 work-items, each with several rows."""
    unit = make("{ [r, i]: 0 <= r, i < n }", f"out[r, i] = {right}",
                f"a: n + 1, {pitch}; w: 2*n; int32 k: 1; out: n, n",
                assumes=f"n >= 1 and n mod {256 * cells} = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    unit = lp.split_iname(unit, "r", 4 * cells, outer_tag="g.1")
    outer, inner = ("unr", "l.1") if between else ("l.1", "unr")
    unit = lp.split_iname(unit, "r_inner", 4 if between else cells, outer_tag=outer, inner_tag=inner)
    assert vectors == compiled_kernel(count(unit, 16)).tree.launches[0].packs_items(wide=True)


@pytest.mark.parametrize(("right", "filled"), [
    ("a[2*i] + a[2*i + 1]", [True, True]),
    ("a[2*i] + a[2*i + 3]", [True, True]),  # two cells each, of neighbouring pairs
    ("a[2*i] + a[2*i + 2]", [False, False]),
    ("a[4*i] + a[4*i + 1] + a[4*i + 2] + a[4*i + 3]", [True] * 4),
    ("a[5*i] + a[5*i + 1] + a[5*i + 2] + a[5*i + 3] + a[5*i + 4]", [False] * 5),  # wider than compilers try
    ("a[2*i] + b[2*i + 1]", [False, False]),
    ("c[i, 0] + c[i, 1] + c[i, 2]", [True] * 3),  # a row of 3 cells for each lane
    ("c[i, 0] + c[i, 1]", [False] * 2),
])  # fmt: skip
def test_accesses_that_touch_all_cells_between_lanes_fill_the_stride(right: str, filled: list[bool]) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = {right}", "a: 5*n; b: 5*n; c: n, 3; out: n")
    (nest,) = compiled_kernel(counts).tree.launches[0].nests
    assert filled == [access.fills_stride for access in nest.accesses if access.load]


@pytest.mark.parametrize(("load", "shape", "filled"), [
    ("a[r, 2*i] + a[r, 2*i + 1]", "n, 2*n", True), ("c[r, i, 0] + c[r, i, 1]", "n, n, 2", True),
    ("a[r, 2*i] + a[r, 2*i + 1]", "n, 3*n", False),  # the code gathers: an odd row may begin at an odd cell
    ("c[r, i, 0] + c[r, i, 1] + c[r, i, 2]", "n, n, 3", False),
])  # fmt: skip
def test_neighbours_are_seen_if_no_size_changes_the_low_bits_of_an_index(load: str, shape: str, filled: bool) -> None:
    """``filled`` is whether PoCL 3.1 writes no gathers."""
    unit = make("[n] -> { [i, r]: 0 <= i, r < n }", f"out[r, i] = {load}", f"{load[0]}: {shape}; out: n, n",
                assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), {"r": "g.1"})
    (nest,) = compiled_kernel(count(unit, 16)).tree.launches[0].nests
    assert {filled} == {access.fills_stride for access in nest.accesses if access.load}


@pytest.mark.filterwarnings("ignore::perfmodel.errors.PerfModelWarning")
@pytest.mark.parametrize("order", ["serial", "lockstep"])
@pytest.mark.parametrize(("dtype", "bits"), [("int32", 32), ("float64", 64)])
def test_each_atomic_update_costs_a_call_of_a_function(dtype: str, bits: int, order: str) -> None:
    """A quarter of the work-items makes three updates each."""
    for tag, calls in (("", 0), (", atomic", 3 * 640 / 4)):
        out = lp.GlobalArg("out", dtype, shape="3, n", for_atomic=True)
        update, flag = f"out[j, i] = out[j, i] + 1 {{id=u{tag},if=flag[i]>0}}", lp.GlobalArg("flag", "int32", shape="n")
        unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 3 }", update, [out, flag, ...],
                    assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
        unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
        counts = count(unit, 8, {"flag[i_inner + i_outer*64] > 0": 0.25})
        assert calls == quantities(counts, order, n=640).get(f"function_{bits}", 0)


@pytest.mark.parametrize("first", [3, 8])
def test_the_order_of_statements_does_not_change_the_addresses_of_cells(first: int) -> None:
    lines = {3: "b[r, k, i] = c[r, k, i]", 8: "out[q, m, i] = a[q, m, i]"}
    unit = make("{ [i, r, q, k, m]: 0 <= i, r, q < n and 0 <= k < 3 and 0 <= m < 8 }",
                "\n".join((lines[first], lines[11 - first])), "a, out: n, 8, n; b, c: n, 3, n",
                assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    unit = lp.tag_inames(unit, {"r": "g.1", "q": "g.1", "k": "unr", "m": "unr"})
    assert 8 == compiled_kernel(count(unit, 16)).tree.launches[0].cell_addresses


def test_a_chain_has_the_operations_of_all_iterations() -> None:
    (chain,) = [chain for nest in compiled_kernel(row_sums()).tree.launches[0].nests for chain in nest.chains]
    assert ({"add": 64 * 5}, 1, 32, 64) == (
        {kind: row(n=64, k=5) for kind, row in chain.operations.items()}, chain.cells, chain.bits,
        chain.runs(n=64, k=5),
    )  # fmt: skip


def test_a_chain_runs_once_for_each_entry_of_the_outermost_loop_that_carries_it() -> None:
    """The loops over k and j carry the sum, the loop over r begins it again."""
    counts = kernel(
        "[n] -> { [i, r, k, j]: 0 <= i < n and 0 <= r < 7 and 0 <= k < 5 and 0 <= j < 3 }",
        "out[i, r] = sum((k, j), a[k, j]*b[i, r])", "a: 5, 3; b: n, 7; out: n, 7",
    )  # fmt: skip
    (chain,) = [chain for nest in compiled_kernel(counts).tree.launches[0].nests for chain in nest.chains]
    assert 64 * 7 == chain.runs(n=64)


@pytest.mark.parametrize(("cells", "loops"), [(6, 0), (9, 0), (64, 1)])
def test_a_compiler_unrolls_loops_of_few_constant_trips(cells: int, loops: int) -> None:
    """A product of a matrix of cells by cells. Up to 400 instructions are unrolled: 64 by 64 are 64*64*2 and more."""
    counts = kernel(
        f"[n] -> {{ [i, r, j]: 0 <= i < n and 0 <= r, j < {cells} }}", "out[i, r] = sum(j, a[i, j]*b[r, j])",
        f"a: n, {cells}; b: {cells}, {cells}; out: n, {cells}",
    )  # fmt: skip
    (launch,) = compiled_kernel(counts).tree.launches
    (written,), (unrolled,) = ([nest for nest in nests if nest.operations] for nests in (launch.nests, launch.unrolled))
    assert (2, loops) == (written.loops, unrolled.loops)
    loads = [access.executions(n=64) for access in unrolled.accesses if access.load]
    # unrolled, each of the cells of a row of a is loaded once, and not for each r
    assert [64 * cells if loops == 0 else 64 * cells**2, 64 * cells**2] == loads


def test_a_loop_along_a_row_is_contiguous_and_one_along_a_column_is_not() -> None:
    counts = kernel(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = a[j, i] + b[i, m - 1 - j]",
        "a: m, n; b: n, m; out: n, m",
    )  # fmt: skip
    (loop,) = [nest for nest in compiled_kernel(counts).tree.launches[0].nests if nest.loops]
    assert [(True, False), (True, True), (False, True)] == sorted(
        ((access.load, access.contiguous) for access in loop.accesses), key=lambda pair: (not pair[0], pair[1])
    )


COSTS = [  # statements, arrays, whether n is a multiple of the group, what PoCL 3.1 reports
    ("out[i] = b[3*i]*a[i]", "uint8 b: 3*n; a, out: n", False, False),  # AVX-512 gathers no bytes
    ("out[i] = b[3*i]*a[i]", "uint8 b: 3*n; a, out: n", True, True),
    ("out[i] = b[i]*a[i]", "uint8 b: n; a, out: n", False, True),
    ("out[i] = b[k[i]] + c[i]", "int16 b, c, out: n; int32 k: n", False, False),
    ("out[3*i] = b[i]", "int16 b: n; int16 out: 3*n", False, True),
    ("out[3*i] = b[i]\nout[3*i + 1] = c[i]", "int16 b, c: n; int16 out: 3*n", False, False),
    ("out[i] = a[3*i]*a[3*i + 1]*a[3*i + 2]", "float64 a: 3*n; float64 out: n", False, True),
    ("<> r = 1/sqrt(a[3*i]**2 + a[3*i + 1]**2 + a[3*i + 2]**2)\n"
     "out[3*i] = a[3*i]*r\nout[3*i + 1] = a[3*i + 1]*r\nout[3*i + 2] = a[3*i + 2]*r", "TYPE a, out: 3*n", False, None),
    ("out[5*i] = sqrt(a[i])\nout[5*i + 1] = sqrt(b[i])", "TYPE a, b: n; TYPE out: 5*n", False, None),
    ("out[i] = a[i // m]", "a, out: n", True, False), ("out[i] = a[i // m]", "a, out: n", False, True),
    ("out[i] = k[i] // c[i]", "int32 k, c, out: n", True, False),
    ("out[i] = k[i] // 7", "int32 k, out: n", True, True),
    ("out[i] = (k[i] // c[i])*" + "*".join(f"w{i}[i]" for i in range(24)),
     f"int32 k, c, out, {', '.join(f'w{i}' for i in range(24))}: n", True, True),  # what else vectors save
    ("out[i] = k[i] // 7", "int64 k, out: n", True, False), ("out[i] = k[i] // 7", "int64 k, out: n", False, False),
    *(("out[i] = k[i] // 7 + " + " + ".join(f"((k[i] ^ {j})&(c[i] + {j}))" for j in range(3, 27)), "int64 k, c, out: n",
       divides, True) for divides in (True, False)),
    ("out[i] = k[i] // 8", "int64 k, out: n", False, True),  # a shift
]
SWITCHES = [  # values, and whether PoCL 3.1 reports "loop contains a switch statement" for integers
    ("1 if k[i] == 3 or (k[i] == 2 and c[i] == 1) else 0", True), ("1 if k[i] == 3 or k[i] == 7 else 0", False),
    ("1 if k[i] == 3 else (c[i] if k[i] == 7 else 0)", True), ("1 if k[i] == 3 else (5 if k[i] == 7 else 0)", False),
    ("1 if k[i] == 3 else (5 if k[i] == 7 else (6 if k[i] == 9 else 0))", True),
    ("c[i] + 1 if k[i] != 3 and k[i] != 7 else 2", True), ("(c[i] + 1 if k[i] != 7 else 2) if k[i] != 3 else 0", True),
    ("c[i] if k[i] == 3 else (5 if k[i] > 7 else 0)", False), ("1 if k[i] == 3 else (c[i] if d[i] == 7 else 0)", False),
    ("c[i] if k[i] % 3 == 0 else (d[i] if k[i] % 3 == 1 else 2)", True),
    ("1 if (k[i] == 3 and c[i] == 1) or (k[i] == 7 and c[i] == 2) else 0", True),
    ("(c[i] if k[i] == 3 else 0) + (d[i] if k[i] == 7 else 0)", False),
]


@pytest.mark.parametrize(("code", "shapes", "divides", "vectors"), [
    (code, shapes.replace("TYPE", dtype), divides, dtype == "float32" if vectors is None else vectors)
    for code, shapes, divides, vectors in COSTS for dtype in ("float32", "float64")[:1 + ("TYPE" in shapes)]
])  # fmt: skip
def test_pocl_makes_no_vectors_that_cost_more(code: str, shapes: str, divides: bool, vectors: bool) -> None:
    """``vectors`` is what PoCL 3.1 reports with POCL_VECTORIZER_REMARKS=1 for AVX-512."""
    assumes = "n >= 1 and m >= 1" + " and n mod 64 = 0"*divides
    unit = make("[n, m] -> { [i]: 0 <= i < n }", code, shapes, assumes=assumes)
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    assert vectors == compiled_kernel(count(unit)).tree.launches[0].packs_items(wide=True)


@pytest.mark.parametrize(("value", "switches"), SWITCHES)
def test_pocl_makes_no_vectors_of_a_switch(value: str, switches: bool) -> None:
    for dtype in ("int32", "float32")[:2 - ("%" in value)]:
        arrays = f"{dtype} {', '.join(name for name in 'kcd' if f'{name}[' in value)}, out: n"
        unit = make("{ [i]: 0 <= i < n }", f"out[i] = {value}", arrays, assumes="n >= 1")
        counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"))
        (launch,) = compiled_kernel(counts).tree.launches
        assert launch.packs_items(wide=True) is not (switches and dtype == "int32")

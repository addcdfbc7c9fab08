"""Pairs of operations that PoCL's compiler packs, against the remarks of PoCL 3.1 (LLVM 15, AVX-512).

``packs`` is whether POCL_VECTORIZER_REMARKS=1 reports "SLP vectorized" and no "vectorized loop" for a group of 256.
"""

import loopy as lp
import numpy as np
import pytest

from perfmodel import count
from perfmodel.quantities.bottleneck.compiled import compiled_kernel
from perfmodel.quantities.bottleneck.pairs import PackedPairs
from tests.corpus import reductions
from tests.corpus.kernel import make
from tests.quantities.bottleneck.by_hand import kernel, quantities

F4, F8 = np.float32, np.float64
TWO_ROOTS = "<> x = sqrt(a[i])\n<> y = sqrt(b[i])\n"
TWO_MINIMA = "<> x = fmin(a[i], b[i])\n<> y = fmin(c[i], d[i])\n"


def packs(code: str, dtype: type = F4) -> tuple[bool, bool]:
    """Return what :mod:`perfmodel.quantities.bottleneck.pairs` says of a kernel, without and with AVX-512."""
    shapes = "; ".join(f"{name}: n + 8" for name in ("a", "b", "c", "d", "out", "low"))
    counts = kernel("[n] -> { [i]: 0 <= i < n }", code, shapes, dtype)
    return compiled_kernel(counts).tree.launches[0].nests[0].pairs.packs


@pytest.mark.parametrize(("code", "dtype", "expected"), [
    ("out[i] = fmin(sqrt(a[i]), sqrt(b[i]))", F4, True),
    ("out[i] = sqrt(a[i])*sqrt(b[i])", F4, False),  # no comparison
    ("out[i] = fmin(a[i] - b[i], c[i] - d[i])", F4, False),
    ("out[i] = fmin(a[i]/b[i], c[i]/d[i])", F4, False),
    ("out[i] = fmin(a[i]/b[i], c[i]/d[i])", F8, True),
    ("out[i] = fmin(1/a[i], 1/b[i])", F4, True),
    ("out[i] = fmin(fabs(a[i]), fabs(b[i]))", F4, False),
    ("out[i] = a[i] if fabs(a[i]) > fabs(b[i]) else b[i]", F4, True),  # the values are used elsewhere
    ("out[i] = fabs(a[i]) if fabs(a[i]) > fabs(b[i]) else fabs(b[i])", F4, False),
    ("out[i] = fmin(fmin(a[i], b[i]), fmin(c[i], d[i]))", F4, True),
    ("out[i] = fmin(fmin(a[i], b[i]), fmax(c[i], d[i]))", F4, False),
    ("out[i] = fmin(fmin(a[i], b[i]), fmin(c[i], b[i]))", F4, False),  # one test for NaN
    (TWO_MINIMA + "out[i] = (x + 1)*(y + 2)", F4, False),
    (TWO_MINIMA + "out[i] = fmin(x*x, y*y)", F4, True),
    (TWO_MINIMA + "out[i] = fmax(a[i], x - y)", F8, True),
    ("<> x = fmin(a[i], b[i])\n<> y = fmax(a[i], b[i])\nout[i] = fmin(x*x*x, y*y*y)", F4, False),
    ("<> x = fmin(a[i], 2)\n<> y = fmin(c[i], 2)\nout[i] = fmin(x, y)", F4, False),
    ("<> x = fmin(a[i], 2)\n<> y = fmin(c[i], 2)\nout[i] = fmin(x*x*x, y*y*y)", F4, True),
    (TWO_ROOTS + "<> z = x + y {inames=i}\nout[i] = a[i] if c[i]*a[i] > z + d[i] else b[i]", F4, True),
    (TWO_ROOTS + "<> z = x*y {inames=i}\nout[i] = fmin(y, z)", F4, True),
    (TWO_ROOTS + "out[i] = fmin(x, c[i])\nlow[i] = fmin(y, c[i])", F4, True),  # two comparisons of one kind
    (TWO_ROOTS + "out[i] = fmin(x, c[i])\nlow[i] = fmax(y, c[i])", F4, False),
    (TWO_ROOTS + "out[i] = x\nlow[i] = y", F4, False),
    ("<> x = sqrt(a[i])\nout[i] = fmin(x*x, c[i])", F4, False),  # one root
    ("out[i] = fmin(a[i]/b[i]*2 + 3, c[i]/d[i]*5 + 7)", F4, True),
    ("out[i] = fmin(sqrt(a[i])*2 + 3, sqrt(c[i])*5 + 7)", F4, True),
    ("<> x = sqrt(a[i])\n<> z = x {inames=i}\nout[i] = fmin(z, sqrt(b[i]))", F4, True),
    ("<> x = a[i]/b[i]\n<> y = c[i]/d[i]\nout[i] = 1 {if=x > y}", F8, True),
    ("<> x = a[i]*b[i]\nout[i] = (c[i] - b[i])/x if x > 0 else 0\nlow[i] = (d[i] - b[i])/x if x > 0 else 0", F8, True),
    ("<> x = a[i]*b[i]\nout[i] = c[i]/x if x > 0 else 0\nlow[i] = d[i]*x if x > 0 else 0", F8, False),
    ("<> x = 1/a[i]\n<> y = 1/b[i]\nout[i] = fmin(x, c[i])\nlow[i] = fmin(y, c[i])", F4, False),
    ("out[i] = sqrt(a[i])*sqrt(b[i]) if c[i] > 0 else 0", F4, True),  # the end of a branch
    ("out[i] = sqrt(a[i])*sqrt(b[i]) + a[i]/b[i] if c[i] > 0 else b[i]", F4, False),  # the product is fused
    ("<> m = sqrt(a[i]*a[i] + b[i]*b[i])\nout[i] = fmin(a[i]/m, 1)\nlow[i] = fmin(b[i]/m, 1)", F8, False),
    ("<> x = sqrt(a[i]/b[i])\n<> y = sqrt(b[i]/a[i])\nout[i] = fmin(x - b[i], y - a[i])*x", F8, True),
])  # fmt: skip
def test_pairs_are_those_of_the_compilers_remarks(code: str, dtype: type, expected: bool) -> None:
    assert expected == packs(code, dtype)[True]


def test_divisions_save_more_without_avx_512() -> None:
    """By LLVM's tables a division of float32 costs 7 on Haswell and 3 on Skylake's servers, of float64 14 and 4."""
    assert (True, False) == packs("out[i] = fmin(a[i]/b[i], c[i]/d[i])", F4)


@pytest.mark.parametrize(("code", "cells", "expected"), [
    ("<> x = sqrt(a[i])\nout[i] = x if x > 1 else 0", 2, True),
    ("<> x = sqrt(a[i])\nout[i] = x if x > 1 else 0", 1, False),
    ("<> x = fabs(a[i] - b[i])\nout[i] = x if x > 1 else 0", 4, True), ("out[i] = fmin(a[i], b[i])", 4, False),
    ("out[i] = fmin(fmin(a[i], b[i]), c[i])", 2, False), ("out[i] = fmax(a[i], 0)", 4, False),
])  # fmt: skip
def test_cells_of_a_work_item_are_pairs(code: str, cells: int, expected: bool) -> None:
    assumptions = f"n >= 1 and n mod {64 * cells} = 0"
    unit = make("[n] -> { [i]: 0 <= i < n }", code, "a: n; b: n; c: n; out: n", assumes=assumptions)
    unit = lp.split_iname(unit, "i", 64 * cells, outer_tag="g.0")
    unit = lp.split_iname(unit, "i_inner", 64, inner_tag="l.0", outer_tag="unr")
    assert expected == compiled_kernel(count(unit, 16)).tree.launches[0].nests[0].pairs.packs[True]


def test_a_pair_makes_the_code_of_work_items_scalar() -> None:
    texts = "out[i] = fmin(a[i], sqrt(b[i]))", "out[i] = fmin(sqrt(a[i]), sqrt(b[i]))"
    one, two = (kernel("[n] -> { [i]: 0 <= i < n }", text, "a: n; b: n; out: n") for text in texts)
    assert quantities(one, "serial", n=4096)["root_32"] == 4096 / 8
    assert quantities(two, "serial", n=4096)["root_32"] == 2 * 4096
    assert quantities(two, "lockstep", n=4096)["root_32"] == 2 * 4096 / 8


@pytest.mark.parametrize(("code", "tests"), [
    ("out[i] = fmin(a[i], b[i])", 2), ("out[i] = fmin(a[i], 2)", 0),
    ("<> x = fmin(a[i], b[i])\nout[i] = fmax(x, b[i])", 1.5),  # one comparison of b[i] with itself, and two unions
])  # fmt: skip
def test_minima_of_vectors_test_for_nan(code: str, tests: float) -> None:
    """PoCL's machine code: ``fmin`` of two vectors is two comparisons, the union of two masks and a masked move."""
    counts = kernel("[n] -> { [i]: 0 <= i < n }", code, "a: n; b: n; out: n")
    assert tests == compiled_kernel(counts).tree.launches[0].nests[0].pairs.nan_tests


@pytest.mark.parametrize(("code", "columns", "together"), [
    ("out[i, {0}] = 2*a[i, {0}]", 2, 2), ("out[i, {0}] = a[i, {0}] + 1", 4, 4), ("out[i, {0}] = 2*a[i, {0}]", 3, 1),
    ("out[i, {0}] = low[{0}, i]", 2, 1), ("out[i, {0}] = low[{0}, i]", 4, 4),  # a copy of two saves nothing
    ("out[i, {0}] = 2*a[i, {0}]", 6, 2), ("out[i, {0}] = sqrt(a[i, 0])*a[i, {0}] + {0}", 2, 2),
    ("low[{0}, i] = 2*a[i, {0}]", 2, 1), ("out[i, {0}] = a[i, {0}]", 2, 2), ("out[i, {0}] = a[i, {0}]", 4, 4),
    ("out[i, {0}] = b{0}[i]", 4, 1), ("out[i, {0}] = b{0}[i]*b0[i]", 4, 4), ("out[i, {0}] = b0[i] + {0}", 4, 4),
    ("b0[i]; b1[i]; 0.0; 0.0", 4, 4), ("b0[i]; b1[i]; b2[i]; 0.0", 4, 1), ("b0[i]; b0[i]; 2*b1[i]; 2*b1[i]", 4, 4),
])  # fmt: skip
def test_statements_that_store_neighbours_make_a_vector(code: str, columns: int, together: int) -> None:
    """PoCL reports "Stores SLP vectorized", and no vectors of work-items, if more than one is stored together."""
    values = [code.format(column) for column in range(columns)] if "{" in code else code.split("; ")
    text = "\n".join(each if "=" in each else f"out[i, {column}] = {each}" for column, each in enumerate(values))
    shapes = f"a: n, {columns}; out: n, {columns}; low: {columns}, n" + "; b0: n; b1: n; b2: n; b3: n"
    counts = kernel("[n] -> { [i]: 0 <= i < n }", text, shapes)
    assert together == compiled_kernel(counts).tree.launches[0].nests[0].pairs.stored
    if columns <= 4:  # wider rows are stored one by one
        stores = columns * 4096 / (8 if together == 1 else together)
        assert stores == quantities(counts, "serial", n=4096)["stores"]


@pytest.mark.parametrize(("dtype", "code", "scalar"), [
    (np.complex64, "out[i] = a[i]*b[i]", True), (np.complex64, "out[i] = a[i]", False),
    (np.complex128, "out[i] = a[i]*b[i] + out[i]", False), (np.complex128, "out[i] = a[i]/b[i]", True),
])  # fmt: skip
def test_complex_functions_return_vectors_or_branch(dtype: type, code: str, scalar: bool) -> None:
    """PoCL vectorises work-items that copy complex64 or add a product of complex128; for the others it reports none."""
    assert scalar == packs(code, dtype)[True]


@pytest.mark.parametrize("code", [
    "out[i, 0] = sqrt(a[i, 0])\nout[i, 1] = a[i, 1]*b[i]", "out[i, 0] = a[i, 0] + b[i]\nout[i, 1] = a[i, 1]*b[i]",
    "out[i, 0] = 2*a[i, 0]\nif a[i, 0] > 0\nout[i, 1] = 2*a[i, 1]\nend", "out[i, 0] = a[i, 0]*b[i]\nout[i, 1] = 0",
])  # fmt: skip
def test_neighbours_of_other_kinds_or_behind_a_test_are_stored_alone(code: str) -> None:
    """PoCL reports vectors of eight work-items for each."""
    counts = kernel("[n] -> { [i]: 0 <= i < n }", code, "a: n, 2; b: n; out: n, 2")
    assert PackedPairs() == compiled_kernel(counts).tree.launches[0].nests[0].pairs


def test_long_chains_have_pairs_too() -> None:
    steps = (f"<> x{k + 1} = x{k}*b[i] + 1 {{inames=i}}" for k in range(700))
    code = "\n".join(["<> x0 = sqrt(a[i])", *steps, "out[i] = fmin(x700, b[i])"])
    unit = make("[n] -> { [i]: 0 <= i < n }", code, "a: n; b: n; out: n", assumes="n mod 128 = 0 and n >= 1")
    unit = lp.split_iname(unit, "i", 128, outer_tag="g.0")
    counts = count(lp.split_iname(unit, "i_inner", 64, inner_tag="l.0", outer_tag="unr"), 16)
    assert compiled_kernel(counts).tree.launches[0].nests[0].pairs.packs[True]


@pytest.mark.filterwarnings("ignore")  # Loopy's, of this reduction
def test_comparisons_without_operands_have_no_pairs() -> None:
    counts = count({kernel.name: kernel for kernel in reductions.KERNELS}["index_of_maximum"].builder(), 16)
    assert {PackedPairs()} == {nest.pairs for nest in compiled_kernel(counts).tree.launches[0].nests}


def test_values_that_a_loop_passes_in_a_circle_come_to_an_end() -> None:
    code = "for i\n<> x = y\n<> z = x\ny = z\nout[i] = fmin(y, a[i])\nend"
    arrays = [lp.GlobalArg("a, out", F4, shape="n"), lp.ValueArg("n"), lp.TemporaryVariable("y", F4, shape=())]
    unit = make("[n] -> { [i]: 0 <= i < n }", code, arrays, assumes="n mod 64 = 0 and n >= 1", seq_dependencies=True)
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), 16)
    assert (False, False) == compiled_kernel(counts).tree.launches[0].nests[0].pairs.packs


@pytest.mark.parametrize(("code", "shapes", "width", "together"), [
    ("out[i, j] = 2*a[i, j]", "a, out: n, 4", 4, 4), ("out[i, j] = a[i, j]", "a, out: n, 2", 2, 2),
    ("out[i, j] = 2*a[i, j]", "a, out: n, 16", 16, 8), ("out[i, j] = 2*a[i, j]", "float64 a, out: n, 8", 8, 4),
    ("out[i, j] = 2*a[i, j]", "a, out: n, 3", 3, 1),  # no row but the first starts at an even cell
    ("out[i, j] = 2*a[i, j]", "a, out: n, 6", 3, 2),
    ("out[i, j] = a[j, i] + 1", "a: 2, n; out: n, 2", 2, 2),
    ("out[i, j] = a[j, i]*b[j, i]", "a, b: 2, n; out: n, 2", 2, 1),
    ("out[i, j] = a[j, i]*b[j, i]", "a, b: 8, n; out: n, 8", 8, 8),  # AVX-512 gathers
    ("out[i, j] = a[i]", "a: n; out: n, 4", 4, 4), ("out[i, j] = a[i]", "a: n; out: n, 2", 2, 1),
    ("out[i, j] = k[i, j]*l[i]", "int32 k, out: n, 4; int32 l: n", 4, 4),
    ("out[i, j] = t[k[i, j]]", "int32 k: n, 4; out: n, 4; t: 256", 4, 4),
    ("out[i, j] = t[k[i, j]]", "uint8 k, out: n, 4; uint8 t: 256", 4, 0),  # AVX-512 gathers no bytes
])  # fmt: skip
def test_copies_that_store_neighbours_make_a_vector(code: str, shapes: str, width: int, together: int) -> None:
    """For ``together`` > 1, PoCL 3.1 reports "SLP vectorized", for 1 a "vectorized loop", for 0 one without a test."""
    for assumes in ("n >= 1 and n mod 64 = 0", "n >= 1")[:1 + (together > 0)]:
        unit = make(f"[n] -> {{ [i, j]: 0 <= i < n and 0 <= j < {width} }}", code, shapes, assumes=assumes)
        unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), {"j": "unr"})
        (launch,) = compiled_kernel(count(unit)).tree.launches
        assert (max(together, 1), together <= 1) == (launch.nests[0].pairs.stored, launch.packs_items(wide=True))

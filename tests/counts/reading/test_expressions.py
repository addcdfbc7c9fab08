"""Operations and accesses of single instructions, counted by hand from the C code."""

from collections import Counter
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import DECISIONS
from perfmodel.counts.reading.instructions import PathWalk
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.values import Options
from tests import oracle
from tests.corpus.kernel import make


def walked(code: str, options: Options | None = None, **types: type) -> PathWalk:
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", code, lang_version=(2018, 2), assumptions="n >= 1")
    names = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    unit = schedule(lp.add_dtypes(unit, {name: types.get(name, np.float32) for name in names if name != "n"}))
    kernel = unit.default_entrypoint
    walk = PathWalk(kernel, unit.callables_table, options or Options())
    walk.assignment(kernel.instructions[0])
    return walk


def amounts(walk: PathWalk) -> dict[tuple[str, str], int]:
    total = Counter[tuple[str, str]]()
    for event in walk.operations:
        total[event.dtype, event.kind] += event.amount
    return dict(total)


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i] + b[i] - c[i]", {("float32", "add"): 2}),
    ("out[i] = -a[i]", {}),  # a factor -1 is free
    ("out[i] = 1.0*a[i]", {("float32", "mul"): 1}),  # 1.0f * a[i] in the generated code
    ("out[i] = 1.0*a[i] + 1.0*a[i]*a[i]", {("float32", "mul"): 3, ("float32", "add"): 1}),
    ("out[i] = 2*i", {("float32", "mul"): 1}),  # 2.0f * i
    ("out[i] = (i + 1)*a[i]", {("float32", "add"): 1, ("float32", "mul"): 1}),  # (i + 1.0f) * a[i]
    ("out[i] = 10.0*(i - 5.0)", {("float32", "add"): 1, ("float32", "mul"): 1}),
    ("out[i] = i*n", {("int32", "mul"): 1}),  # a stored value is not an index
    ("out[i] = n*n*a[i]", {("int32", "mul"): 1, ("float32", "mul"): 1}),  # n * n * a[i] is (n * n) * a[i]
    # (double) i / (double) 2.0 < n
    ("out[i] = a[i] if i/2 < n else 0", {("float64", "div"): 1, ("float64", "compare"): 1, ("float32", "select"): 1}),
    # i + 0.5f < n
    ("out[i] = a[i] if i + 0.5 < n else 0", {("float32", kind): 1 for kind in ("add", "compare", "select")}),
    ("out[i] = a[i]**2", {("float32", "mul"): 1}),
    ("out[i] = a[i]**3", {("float32", "pow"): 1}),
    ("out[i] = a[i] / b[i]", {("float32", "div"): 1}),
    ("out[i] = a[2*i + 1]", {}),  # index arithmetic
    ("out[i] = fmax(a[i], b[i])", {("float32", "minmax"): 1}),
    ("out[i] = rsqrt(a[i])", {("float32", "rsqrt"): 1}),
])
def test_operations(code: str, expected: dict[tuple[str, str], int]) -> None:
    assert expected == amounts(walked(code))


def test_the_place_of_an_element_is_free() -> None:
    walk = walked("out[i] = indexof(a[2*i])", out=np.int32)  # 2 * i in the generated code
    assert {} == amounts(walk)
    assert ["store"] == [event.direction for event in walk.accesses]


def test_an_atomic_store_compares_the_old_value() -> None:
    directions = [
        sorted(event.direction for event in walked(code).accesses if event.array == "out")
        for code in ("out[i] = a[i] {atomic=init}", "out[i] = out[i] + a[i] {atomic}")
    ]
    assert [["load", "store"]] * 2 == directions


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i]*a[i] + b[0]", ["a load", "a load", "b load", "out store"]),
    ("out[i] = out[i] + 1", ["out load", "out store"]),
    ("out[i] = n*a[i] + i", ["a load", "out store"]),  # neither arguments passed by value nor inames lie in memory
    ("out[i] = a[where[i]]", ["where load", "a load", "out store"]),  # the index first
    ("out[where[i]] = a[i]", ["a load", "where load", "out store"]),
    ("out[i] = 3", ["out store"]),
    ("<> t = a[i]", ["a load"]),  # a private scalar is a register
])  # fmt: skip
def test_order_of_accesses(code: str, expected: list[str]) -> None:
    walk = walked(code, where=np.int32)
    assert expected == [f"{event.array} {event.direction}" for event in walk.accesses]


COMPLEX = {"out": np.complex64, "a": np.complex64, "b": np.complex64}
INTEGERS = {"out": np.int32, "a": np.int32, "b": np.int32}


@pytest.mark.parametrize(("code", "expected"), [
    # (a + bi)/(c + di): the denominator's square (2 mul, 1 add), four products, two sums and two quotients, as
    # pyopencl's header writes it: 3 div, 4 mul, 3 add
    ("out[i] = a[i] / b[i]", {"div": 3, "mul": 4, "add": 3}),
    ("out[i] = a[i] / x[i]", {"div": 2}),  # each part by a real number
    ("out[i] = x[i] / a[i]", {"div": 3, "mul": 3, "add": 1}),
    ("out[i] = a[i] + b[i]", {"add": 2}),
    ("out[i] = a[i] + x[i]", {"add": 1}),  # to the real part only
    ("out[i] = a[i]**2", {"mul": 4, "add": 2}),
    ("out[i] = a[i]**4", {"mul": 12, "add": 6}),  # three products
    ("out[i] = a[i]*x[i]*b[i]", {"mul": 2 + 4, "add": 2}),
    ("out[i] = a[i]*(x[i]*x[i])", {"mul": 1 + 2}),  # cfloat_rmul(x * x, a)
    ("out[i] = x[i]*(x[i]*a[i])", {"mul": 2 + 2}),  # cfloat_rmul(x, cfloat_rmul(x, a))
    ("out[i] = -a[i]", {}),
    ("out[i] = -1*a[i]*x[i]", {"mul": 2}),  # cfloat_rmul(-1.0f * x, a)
])  # fmt: skip
def test_complex_numbers(code: str, expected: dict[str, int]) -> None:
    assert {("float32", kind): amount for kind, amount in expected.items()} == amounts(walked(code, **COMPLEX))


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i] << 2", {("int32", "shift"): 1}),
    ("out[i] = (a[i] & b[i]) | ~a[i]", {("int32", "bitwise"): 3}),
    ("out[i] = a[i] // 3 + b[i] % 3", {("int32", "div"): 2, ("int32", "add"): 1}),
    ("out[i] = a[i]*2*b[i]", {("int32", "mul"): 2}),
    ("out[i] = 2*(3*a[i])", {("int32", "mul"): 2}),  # 2 * 3 * a[i]
    ("out[i] = i*(2*a[i])", {("int32", "mul"): 2}),
    ("out[i] = a[i] + i/4", {("int32", "add"): 1, ("int32", "div"): 1}),
    ("out[i] = 7*(2*i)**2", {("int32", "mul"): 4}),  # 7 * 2 * i * 2 * i
])  # fmt: skip
def test_integers_that_are_stored_are_no_index_arithmetic(code: str, expected: dict[tuple[str, str], int]) -> None:
    assert expected == amounts(walked(code, **INTEGERS))


@pytest.mark.parametrize(("code", "types", "expected"), [
    ("out[i] = a[i] + b[i]", {"a": np.float64}, {("float64", "add"): 1}),
    # from left to right: the first sum is of floats, the second of doubles
    ("out[i] = a[i] + b[i] + c[i]", {"c": np.float64}, {("float32", "add"): 1, ("float64", "add"): 1}),
    ("out[i] = c[i] + a[i] + b[i]", {"c": np.float64}, {("float64", "add"): 2}),
    ("out[i] = a[i]*i", {}, {("float32", "mul"): 1}),  # the index becomes a float
    ("out[i] = a[i]*(i + 1)", {}, {("float32", "mul"): 1, ("float32", "add"): 1}),  # the code is a[i] * (i + 1.0f)
    ("out[i] = a[i]**0 + a[i]**1", {}, {("float32", "add"): 1}),
    ("out[i] = a[i]**2.5", {}, {("float32", "pow"): 1}),
    ("out[i] = a[i]**b[i]", {"a": np.int32, "b": np.uint32, "out": np.int64}, {("int64", "pow"): 1}),
    ("out[i] = a[i]**b[i]", {"b": np.int32, "out": np.float64}, {("float32", "intpow"): 1}),  # loopy_pow_float32_int32
    # -1.0 is a double where the result is one, and so are the product with it and the sum: a + -1.0 * b
    ("out[i] = a[i] - b[i]", {"out": np.float64}, {("float64", "add"): 1}),
    ("out[i] = -1*a[i]*b[i]", {"out": np.float64}, {("float64", "mul"): 1}),
    # Loopy gives a product of an integer and a complex64 the type complex128
    ("out[i] = a[i]*b[i]", {"a": np.int32, "b": np.complex64, "out": np.complex128}, {("float64", "mul"): 2}),
    ("out[i] = a[i]*3", {"a": np.int32, "out": np.int64}, {("int32", "mul"): 1}),  # C takes 3 for an int
    ("out[i] = abs(a[i]) + fabs(b[i])", {}, {("float32", "fabs"): 2, ("float32", "add"): 1}),
    ("out[i] = (a[i] + b[i])**2", {}, {("float32", "add"): 2, ("float32", "mul"): 1}),  # the base twice
    ("out[i] = fmin(a[i], fmin(b[i], c[i]))", {}, {("float32", "minmax"): 2}),
])  # fmt: skip
def test_types_of_operands(code: str, types: dict[str, Any], expected: dict[tuple[str, str], int]) -> None:
    assert expected == amounts(walked(code, **types))


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i]*b[i] + c[i]", {"madd": 1}),
    ("out[i] = c[i] + a[i]*b[i]*d[i]", {"mul": 1, "madd": 1}),  # the outer product is added
    ("out[i] = a[i]*b[i] + c[i] + d[i]", {"madd": 1, "add": 1}),
    ("out[i] = (a[i] + b[i])*c[i]", {"add": 1, "mul": 1}),  # the sum comes first
    ("out[i] = a[i]*b[i] - c[i]*d[i]", {"mul": 1, "madd": 1}),
    ("out[i] = (a[i] + b[i])*c[i] + (a[i] + d[i])*d[i]", {"add": 2, "mul": 1, "madd": 1}),  # not the inner sums
])  # fmt: skip
def test_products_that_are_added_at_once(code: str, expected: dict[str, int]) -> None:
    walk = walked(code, Options(group_multiply_add=True))
    assert {("float32", kind): amount for kind, amount in expected.items()} == amounts(walk)


N = 24
POSITIVE = {"x": np.linspace(0.5, 1.5, N, dtype=np.float32)}
Expected = dict[tuple[str, str], int]


def kernel(text: str) -> lp.TranslationUnit:
    unit = make("[n] -> {[i]: 0 <= i < n}", text,
                "x, out: n; float64 y: n; int32 k: n; int8 c: n; int64 u: n; float32 p",
                assumes="n >= 4 and n mod 4 = 0", seq_dependencies=True)  # fmt: skip
    return lp.split_iname(unit, "i", 4, outer_tag="g.0", inner_tag="l.0")


def decisions(counts: KernelCounts) -> Expected:
    found = {(row.dtype, row.kind): row.count(n=N) for row in counts.operation_table if row.kind in DECISIONS}
    return {key: number for key, number in found.items() if number}


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i] = x[i] > 0.25", {("float32", "compare"): 1}),
    ("out[i] = y[i] > x[i]", {("float64", "compare"): 1}),  # x becomes a double
    ("out[i] = y[i] > 0.25", {("float64", "compare"): 1}),
    ("out[i] = k[i] > 3", {("int32", "compare"): 1}),
    ("out[i] = c[i] == 3", {("int32", "compare"): 1}),  # a char is promoted
    ("out[i] = u[i] == k[i]", {("int64", "compare"): 1}),
    ("out[i] = k[i] > x[i]", {("float32", "compare"): 1}),
    ("out[i] = i > 3", {("int32", "compare"): 1}),  # its value is stored
    ("out[i] = x[i] if x[i] > 0.25 else 2*x[i]", {("float32", "compare"): 1, ("float32", "select"): 1}),
    ("out[i] = x[i] if k[i] > 100 else y[i]", {("int32", "compare"): 1, ("float64", "select"): 1}),
    ("out[i] = x[i] if i > 3 else 0", {("float32", "select"): 1}),  # a test of loop variables
    ("out[i] = x[i] if i % 2 == 0 and x[i] > 0 else 0", {("float32", "select"): 1, ("float32", "compare"): 0.5}),
    ("out[i] = x[i] if not (x[i] > 0 or y[i] > 0) else 0", {("float32", "select"): 1, ("float32", "compare"): 1}),
    ("out[i] = (1.0 if x[i] > 9 else 2.0) if i < 4 else 3.0",
     {("float32", "select"): 1 + 4 / N, ("float32", "compare"): 4 / N}),
    ("out[i] = fmax(x[i], 1.0)", {}),
    ("out[i] = x[i] if p > 1 else 0", {("float32", "select"): 1, ("float32", "compare"): 1}),
    ("if x[i] > 0\n out[i] = 1\nend", {("float32", "compare"): 1}),
    ("if i > 3\n out[i] = 1\nend", {}),
    ("<> t = x[i] > 0\nif t\n out[i] = 1\nend", {("float32", "compare"): 1}),
    ("out[i] = x[k[i] if k[i] > 3 else 0]", {}),  # it forms an address
])  # fmt: skip
def test_decisions(text: str, expected: dict[tuple[str, str], float]) -> None:
    unit = kernel(text)
    known = {"x[i_inner + i_outer*4] > 0": 1} if " or " in text else None
    counts = count(unit, cache=False, statistics=known)
    wanted = {key: int(amount * N) for key, amount in expected.items()}
    executed = dict(oracle.execute(unit, {"n": N}, 32, POSITIVE).operations)
    assert wanted == decisions(counts)
    assert wanted == {key: amount for key, amount in executed.items() if key[1] in DECISIONS}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Loopy's own code
def test_a_search_for_the_largest_compares_at_each_step() -> None:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 8 }", "out[i], at[i] = argmax(j, x[i, j], j)",
                "x: n, 8; out: n; int32 at: n", assumes="n >= 1")  # fmt: skip
    expected = {("float32", "compare"): 8 * N}
    counts = count(unit, cache=False)
    assert expected == decisions(counts)
    chains = [(kind, number) for each in counts.flow.recurrences for (kind, _), number in each.terms]
    assert chains == [(("float32", "minmax"), 1)] * 2  # of the value and its index
    assert expected == dict(oracle.execute(unit, {"n": N}, 32).operations)


@pytest.mark.parametrize(("code", "types", "expected"), [
    ("out[i] = b[i]*a[i]", {"b": np.uint8}, 1), ("out[i] = b[i]*a[i]", {}, 0),
    ("out[i] = b[i]*2 + b[i]*a[i]", {"b": np.uint8}, 1),  # of one value
    ("out[i] = b[i]*c[i]*a[i]", {"b": np.int32, "c": np.int32}, 1),  # (b * c) * a: of their product
    ("out[i] = a[i]*n + a[i]*i + 2*a[i]", {}, 0),  # before the loop, of induction variables, at compile time
    ("out[i] = 255*a[i] + 3", {"out": np.uint8}, 1), ("out[i] = b[i] + 1", {"out": np.uint8, "b": np.int32}, 0),
    ("out[i] = fmax(b[i], a[i])", {"b": np.int32}, 1), ("out[i] = a[b[i]]", {"b": np.int32}, 0),
    ("out[i] = a[i] - b[i]", {"b": np.int32}, 1), ("out[i] = -b[i]", {"b": np.int32}, 1),
    ("out[i] = b[i]/c[i]", {"b": np.int32, "c": np.int32}, 2), ("out[i] = sqrt(b[i])", {"b": np.int32}, 1),
    ("out[i] = c[i] if a[i] > b[i] else 0", {"b": np.int32}, 1),  # before the comparison
    ("out[i] = b[i] if a[i] > 0 else a[i]", {"b": np.int32}, 1), ("out[i] = a[i]*1e-6", {"out": np.int32}, 1),
])  # fmt: skip
def test_conversions(code: str, types: dict[str, Any], expected: int) -> None:
    """Conversions between integers and floating point, which are not among the operations."""
    walk = walked(code, **types)
    assert expected == len(walk.single)
    assert "convert" not in {event.kind for event in walk.operations}


def test_equal_casts_are_equal_values() -> None:
    unit = make("{ [i]: 0 <= i < n }", "out[i] = 0", "int32 b: n; a, out: n")
    cast = lp.symbolic.TypeCast(np.float32, lp.symbolic.parse("b[i]"))
    code = lp.symbolic.parse("sqrt(x) + 3*sqrt(x)")
    value = lp.symbolic.SubstitutionMapper(lambda name: cast if getattr(name, "name", "") == "x" else None)(code)
    (instruction,) = unit.default_entrypoint.instructions
    unit = unit.with_kernel(unit.default_entrypoint.copy(instructions=[instruction.copy(expression=value)]))
    counts = count(unit, cache=False)
    roots = [row.count(n=100) for row in counts.compiled.operation_table if row.kind == "sqrt"]
    assert [100] == roots

"""Which integer arithmetic is that of indices, and what of it the generated code has."""

from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import DECISIONS
from perfmodel.libraries import with_main
from tests import oracle
from tests.corpus.kernel import make

N = 12
ROW, COLUMN = p.Variable("i"), p.Variable("j")
SIZES = {"n": N}
NOT_IN_MAIN = pytest.mark.xfail(with_main(), reason="Loopy's main branch fails at ** and | in an index or a test")
Operations = dict[tuple[str, str], int]


def kernel(instructions: Any, tags: str = "", sizes: str = "n") -> lp.TranslationUnit:
    """The kernel over i and j; ``tags`` are ``lanes`` along i, and j ``unrolled``."""
    unit = make(f"[n] -> {{ [i, j]: 0 <= i, j < {sizes} }}", instructions,
                [lp.GlobalArg("a, b, out", np.int32, shape="n, n"), lp.GlobalArg("x", np.float32, shape="n, n"),
                 lp.GlobalArg("table", np.int32, shape=(100,)), lp.GlobalArg("box", np.float32, shape=(60, 70)),
                 lp.GlobalArg("columns", np.float32, shape=(70, 60), order="F"), lp.ValueArg("n", np.int32)],
                assumes=f"n = {N}", seq_dependencies=True)  # fmt: skip
    if "lanes" in tags:
        unit = lp.split_iname(unit, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(unit, "j", 3, inner_tag="unr") if "unrolled" in tags else unit


def operations(counts: KernelCounts) -> Operations:
    assert all(row.count.exact for row in counts.operation_table)
    found = {(row.dtype, row.kind): int(row.count(**SIZES)) for row in counts.operation_table}
    return {key: number for key, number in found.items() if number}


def of(amounts: dict[str, int], dtype: str = "int32") -> Operations:
    return {(dtype, kind): amount * N * N for kind, amount in amounts.items()}


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i, j] = a[i, j]*b[i, j] > 3", {"mul": 1}),
    ("<> t = a[i, j]*b[i, j]\nout[i, j] = t > 3", {"mul": 1}),
    ("out[i, j] = 1 if a[i, j] % b[i, j] == 0 else 0", {"div": 1}),
    ("out[i, j] = (a[i, j] & 7) > b[i, j]", {"bitwise": 1}),
    ("out[i, j] = 1 if (a[i, j] << 1) > 3 else 0", {"shift": 1}),
    ("out[i, j] = 1 if not (a[i, j] ^ 1) > 3 else 0", {"bitwise": 1}),
    ("out[i, j] = 1 if abs(a[i, j] - 3) > 1 else 0", {"abs": 1, "add": 1}),
    ("out[i, j] = a[i, j] > 2*j + 1", {"mul": 1, "add": 1}),  # a value compared with data is not an index
    ("<> t = i + j\nout[i, j] = 1 if t*2 > 3 else 0", {"add": 1, "mul": 1}),  # t is data
    ("out[i, j] = 1 if 2*i + 1 > n - j else 0", {}),  # a test of loop variables and sizes
    pytest.param("out[i, j] = 1 if (i | 1) > 3 and not (j & n) > min(i, n) else 0", {}, marks=NOT_IN_MAIN),
    ("out[i, j] = 2*i + 1 > n - j", {"mul": 1, "add": 2}),  # its value is stored
    ("out[i, j] = a[2*i // 3 + j % 2, j]", {}),  # an address
    ("out[i, j] = a[table[i + 1] & 7, j]", {}),
])  # fmt: skip
def test_integers_in_tests(text: str, expected: dict[str, int]) -> None:
    text = text.replace("min(i, n)", "(i if i < n else n)")  # Loopy reads min() as a reduction
    unit = kernel(text)
    arrays = {"a": np.arange(N * N).reshape(N, N) % 7 + 1, "b": np.arange(N * N).reshape(N, N) % 5 + 1}
    executed = dict(oracle.execute(unit, SIZES, 32, arrays).operations)
    assert executed == operations(count(unit, cache=False))
    assert of(expected) == {key: amount for key, amount in executed.items() if key[1] not in DECISIONS}


@pytest.mark.parametrize("text", [
    "if 2*a[i, j] > 3 and i % 2 == 0\n out[i, j] = 1\nend", "if i % 2 == 0 and 2*a[i, j] > 3\n out[i, j] = 1\nend",
    "if not (2*a[i, j] > 3 or (b[i, j] | 1) == 2*i)\n out[i, j] = 1\nend",
    "if a[i, j] + 1 > 0\n out[i, j] = 1\n x[i, j] = 2*a[i, j]\nend",
])  # fmt: skip
@pytest.mark.parametrize("tags", ["", "lanes", "unrolled"])
def test_integers_in_predicates(text: str, tags: str) -> None:
    unit = kernel(text, tags)
    executed = oracle.execute(unit, SIZES, 32).operations
    for row in count(unit, cache=False).operation_table:
        counted, done = row.count(**SIZES), executed.get((row.dtype, row.kind), 0)
        assert counted == done or (not row.count.exact and counted > done)


@pytest.mark.parametrize("tags", ["", "lanes", "unrolled"])
@pytest.mark.parametrize("value", [
    "i | 3", "i ^ 3", "i & 3", "i << 2", "i >> 1", "~i", "3*i + 1", "(i + j) // 3", "(i - j) % 5", "n*n - i",
    "(2*i)**2", p.Min((ROW, COLUMN)), p.Max((ROW + 1, 7)), p.If(p.Comparison(ROW, "<", 3), 2 * ROW, COLUMN),
    p.FloorDiv(7, 2) + COLUMN,
])  # fmt: skip
def test_what_is_stored_is_no_index(value: Any, tags: str) -> None:
    target = p.Variable("out")[ROW, COLUMN]
    unit = kernel(f"out[i, j] = {value}" if isinstance(value, str) else [lp.Assignment(target, value)], tags)
    executed = dict(oracle.execute(unit, SIZES, 32).operations)
    assert executed
    assert executed == operations(count(unit, cache=False))


@pytest.mark.parametrize("tags", ["", "lanes", "unrolled", "lanes unrolled"])
@pytest.mark.parametrize("access", [
    "x[i, j]", "box[i // 12, j]", "box[0, i % 12]", "box[i - i, j]", "box[1, (i + 12) - 12]", "box[i, 12*(j // 12)]",
    "box[(i + 3) // 2, j]", "box[(i - j) % 5, 2*j]", "box[(i - 3) // 2 + 2, j + 1]", "columns[2*i, j + 3]", "x[j, i]",
    "box[table[i] % 2, j]", "box[table[2*i + 1], table[j]]", "box[0*table[i], i]", "x[i, j] + x[n - 1 - i, j]",
    "box[table[2*j], j % 3]",
])  # fmt: skip
def test_index_arithmetic_is_that_of_the_generated_code(access: str, tags: str) -> None:
    text = f"out[i, j] = {access}"
    unit = kernel(text, tags, str(N))
    plain, asked = count(unit, cache=False), count(unit, cache=False, include_index_arithmetic=True)
    indices = operations(asked)
    for key, amount in operations(plain).items():
        indices[key] -= amount
    executed = oracle.execute(unit, SIZES, 32)
    assert dict(executed.index_items) == {key: amount for key, amount in indices.items() if amount}
    assert dict(executed.operations) == operations(plain)


@pytest.mark.parametrize("tags", ["", "lanes", "unrolled"])
@pytest.mark.parametrize("number", [
    p.Product((12, 0)), p.Product((0, 0)), p.Product((0, ROW)), p.Product((p.Sum((0, 0)), COLUMN)), p.Sum((0, 0)),
    pytest.param(p.Product((p.Power(2, 3), p.Remainder(4, 2))), marks=NOT_IN_MAIN), p.Product((np.int32(0), COLUMN)),
    pytest.param(p.Product((p.Power(0, 2), COLUMN)), marks=NOT_IN_MAIN),
    p.Product((ROW, p.Product((2, 0)), 3)), p.Product((p.Sum((1, -1)), p.FloorDiv(ROW, 5))),
], ids=str)  # fmt: skip
def test_a_product_of_numbers_in_an_index(number: Any, tags: str) -> None:
    index = p.Sum((number, ROW, p.FloorDiv(COLUMN, 12)))
    unit = kernel([lp.Assignment(p.Variable("out")[ROW, COLUMN], p.Variable("table")[index])], tags)
    counts = count(unit, cache=False)
    executed = oracle.execute(unit, SIZES, 32)
    assert N * N == counts.accesses(array="table")(**SIZES) == sum(
        amount for key, amount in executed.accesses.items() if key[2] == "table"
    )
    assert N == counts.footprint("table")(**SIZES)

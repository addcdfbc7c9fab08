"""Comparisons and selects: of which type they are, and how often they are made."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import DECISIONS
from tests import oracle
from tests.corpus.kernel import make

N = 24
POSITIVE = {"x": np.linspace(0.5, 1.5, N, dtype=np.float32)}
Expected = dict[tuple[str, str], int]


def kernel(text: str) -> lp.TranslationUnit:
    unit = make("[n] -> {[i]: 0 <= i < n}", text,
                [lp.GlobalArg("x, out", np.float32, shape="n"), lp.GlobalArg("y", np.float64, shape="n"),
                 lp.GlobalArg("k", np.int32, shape="n"), lp.GlobalArg("c", np.int8, shape="n"),
                 lp.GlobalArg("u", np.int64, shape="n"), lp.ValueArg("n", np.int32), lp.ValueArg("p", np.float32), ...],
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
                [lp.GlobalArg("x", np.float32, shape="n, 8"), lp.GlobalArg("out", np.float32, shape="n"),
                 lp.GlobalArg("at", np.int32, shape="n"), ...], assumes="n >= 1")  # fmt: skip
    expected = {("float32", "compare"): 8 * N}
    counts = count(unit, cache=False)
    assert expected == decisions(counts)
    chains = [(kind, number) for each in counts.flow.recurrences for (kind, _), number in each.terms]
    assert chains == [(("float32", "minmax"), 1)] * 2  # of the value and its index
    assert expected == dict(oracle.execute(unit, {"n": N}, 32).operations)

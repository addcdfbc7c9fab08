"""Sums over a chain, and ratios of chains, by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from measurement_kernels import matmul_naive
from perfmodel.counts.flow.flow import Chain, ChainRow, Parallelism
from perfmodel.counts.quasipoly.count import Count
from tests.counts.flow.small_kernels import flow_of


def test_parallelism_at_arrays_of_sizes() -> None:
    parallel = flow_of(matmul_naive.KERNEL.build()).instruction_parallelism
    n = np.array([16, 32, 256])
    np.testing.assert_allclose((4 * n + 1) / (n + 3), parallel.evaluate({"n": n}), rtol=1e-12)


N = Count.from_text("[n] -> { n }", granularity="chain")
CHAIN = Chain((
    ChainRow("float32", "add", N), ChainRow("float32", "mul", 2 * N), ChainRow("int32", "add", 3 * N),
    ChainRow("global", "load", 5 * N), ChainRow("local", "load", 7 * N), ChainRow("local", "barrier", 11 * N),
))  # fmt: skip


def test_sums_over_a_chain() -> None:
    # the factors are primes (and 1): a sum shows which rows are in it
    operations = [{}, {"dtype": "float32"}, {"kind": "add"}, {"dtype": "int32", "kind": "mul"}]
    assert [60, 30, 40, 0] == [CHAIN.operations(**given)(n=10) for given in operations]
    accesses = [{}, {"space": "local"}, {"direction": "load"}, {"direction": "store"}]
    assert [120, 70, 120, 0] == [CHAIN.accesses(**given)(n=10) for given in accesses]
    assert [110, 0] == [CHAIN.barriers(**given)(n=10) for given in ({}, {"scope": "global"})]
    assert [True] * 3 + [False] * 3 == [row.is_operation for row in CHAIN.rows]


def test_where_nothing_is_done_the_ratio_is_one() -> None:
    ratio = Parallelism(3 * N + Count.constant(1, "chain"), N)
    assert (Fraction(10, 3), 1) == (ratio(n=3), ratio(n=0))
    np.testing.assert_array_equal([1.0, 4.0, 3.5], ratio.evaluate({"n": [0, 1, 2]}))

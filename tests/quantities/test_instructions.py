"""Operations and instructions, by hand."""

import math

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.quantities import instructions
from perfmodel.quantities.bottleneck import bottleneck_quantities
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.models.test_roofline import counted
from tests.models.test_work_depth import case, chain, counted as counted_serial, tree
from tests.quantities.bottleneck.by_hand import device

#: Two products, three sums and an exponential for each of n work-items, with 4 loads and a store.
MIXED = "out[i] = a[i]*b[i] + 2*c[i] + 1 + exp(d[i])"


def test_an_addition_and_a_multiplication_are_fused():
    # Of two products and three sums two pairs are fused: 3 + 1 exponential.
    assert 4 * 640 == instructions.fused_operations(Case(counted("{[i]: 0 <= i < n}", MIXED), {"n": 640}))


@pytest.mark.parametrize(("dtype", "expected"), [(np.float32, (6 * 640, 0)), (np.float64, (0, 6 * 640))])
def test_floating_point_operations_by_peak(dtype, expected):
    assert expected == instructions.float_operations(Case(counted("{[i]: 0 <= i < n}", MIXED, dtype=dtype), {"n": 640}))


def applied(function: str) -> KernelCounts:
    unit = make("{ [i]: 0 <= i < n }", f"out[i] = {function}", "a, out: n", assumes="n mod 64 = 0 and n >= 64")
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.mark.parametrize(
    ("function", "order"),
    [("fabs(a[i])", "serial"), *((f"{name}(a[i])", "lockstep") for name in ("fabs", "floor", "ceil"))],
)
def test_one_instruction_is_no_call(function: str, order: str) -> None:
    plain, called = (
        bottleneck_quantities(Case(applied(one), {"n": 1024}, device(order))) for one in ("a[i] + 1", function)
    )
    moved = {name for name in plain if plain[name] != called[name]}
    assert moved <= {"chain_add"}  # an addition is on the chain, whose other latencies the model does not have
    assert 0 == called["function_32"]


def test_figure_2_3_has_31_nodes_of_which_5_are_on_the_critical_path():
    found = case(tree(16))
    assert (31, 5) == (instructions.work(found), instructions.critical_path(found))
    assert pytest.approx(6.2) == instructions.work(found) / instructions.critical_path(found)


@pytest.mark.parametrize("leaves", [2, 4, 8, 32])
def test_a_tree_is_as_deep_as_its_height(leaves):
    found = case(tree(leaves))
    assert (2 * leaves - 1, 1 + math.log2(leaves)) == (instructions.work(found), instructions.critical_path(found))


@pytest.mark.parametrize("n", [32, 320])
def test_parallel_inames_enter_the_depth_once(n):
    serial = "{[i, k]: 0 <= i < n and 0 <= k < m}"
    loop = counted_serial(serial, "out[i] = sum(k, a[i, k])", assumptions="n, m >= 1")
    lanes = counted_serial(serial, "out[i] = sum(k, a[i, k])", parallel={"i": "g.0"}, assumptions="n, m >= 1")
    assert 2 * n * 7 == instructions.work(case(loop, n=n, m=7)) == instructions.work(case(lanes, n=n, m=7))
    assert 8 == instructions.critical_path(case(lanes, n=n, m=7))
    assert 8 == instructions.critical_path(case(loop, n=n, m=7))  # the rows' sums do not wait for each other either


def test_the_span_of_fast_memory_leaves_global_loads_out():
    # n additions one after the other; the load is the other node of the critical path.
    found = case(chain(), n=100)
    assert (101, 100) == (instructions.critical_path(found), instructions.fast_critical_path(found))


def test_independent_loads_and_operations_are_in_flight_at_once():
    # Four loads before the first use. Eight instructions (4 loads, 2 products, a sum and the store)
    # with a chain of a load, a product, the sum and the store.
    text = "out[i] = a[i]*a[i+n] + a[i+2*n]*a[i+3*n]"
    found = case(counted_serial("{[i]: 0 <= i < n}", text, parallel={"i": "g.0"}), n=64)
    assert 4 == instructions.memory_parallelism(found)
    assert 8 / 4 == instructions.instruction_parallelism(found)

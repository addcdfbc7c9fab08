"""The dataflow of kernels: chains, parallelism and graph, against what follows by hand from the code."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import arithmetic, matmul_naive, matmul_tiled
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import SHARED
from tests.corpus import CorpusKernel, kernels
from tests.counts.flow.small_kernels import (
    ADD,
    BARRIER,
    FLOAT,
    LOAD,
    LOCAL_LOAD,
    LOCAL_STORE,
    MUL,
    RSQRT,
    STORE,
    at,
    counted,
    flow_of,
    in_lanes,
    kernel,
)

# {{{ one statement

def test_saxpy() -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "y[i] = 3*x[i] + y[i]")))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=100)
    assert {LOAD: 2, MUL: 1, ADD: 1, STORE: 1} == at(flow.work, n=100)
    assert Fraction(5, 4) == flow.instruction_parallelism(n=100)
    assert 2 == flow.memory_parallelism(n=100)


def test_an_indirect_load_waits_for_its_index() -> None:
    flow = flow_of(in_lanes(kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[where[i]]", lp.GlobalArg("where", np.int32, shape="n"),
        lp.GlobalArg("a", FLOAT, shape="n"),
    )))
    assert {LOAD: 2, STORE: 1} == at(flow.depth, n=64)
    assert 1 == flow.memory_parallelism(n=64)  # two loads in two rounds

# }}}


# {{{ reductions and recurrences


def test_naive_matmul() -> None:
    flow = flow_of(matmul_naive.KERNEL.build())
    n = 256
    assert {LOAD: 1, MUL: 1, ADD: n, STORE: 1} == at(flow.depth, n=n)
    assert 2 == flow.memory_parallelism(n=n)
    assert Fraction(4 * n + 1, n + 3) == flow.instruction_parallelism(n=n)


def test_tiled_matmul() -> None:
    flow = flow_of(matmul_tiled.KERNEL.build())
    sizes = {"n": 64, "m": 256, "l": 32}
    tiles = 256 // 16
    # into the first tile: barrier, load, store, barrier, load; then one addition after the other
    first = {BARRIER: 2, LOAD: 1, LOCAL_STORE: 1, LOCAL_LOAD: 1, MUL: 1}
    assert {**first, ADD: 256, STORE: 1} == at(flow.depth, **sizes)
    assert 2 * 256 == flow.work.accesses("local", "load")(**sizes)
    # between barriers: load and store; then local load, product and sixteen additions
    serial = {LOAD: tiles, LOCAL_STORE: tiles, LOCAL_LOAD: tiles, MUL: tiles, ADD: 256, STORE: 1}
    assert {**serial, BARRIER: 2 * tiles} == at(flow.between_barriers, **sizes)
    total = 2 * tiles + 2 * tiles + 2 * 256 + 2 * 256 + 1
    assert Fraction(total, sum(serial.values())) == flow.instruction_parallelism(**sizes)
    assert 2 == flow.memory_parallelism(**sizes)


@pytest.mark.parametrize(("form", "chains"), [("throughput", 8), ("latency", 1)])
@pytest.mark.parametrize(("kind", "operation"), [("add", ADD), ("rsqrt", RSQRT)])
def test_accumulators_side_by_side(kind: str, form: str, operation: tuple[str, str], chains: int) -> None:
    flow = flow_of(arithmetic.KERNEL.build(kind=kind, form=form))
    sizes = {"n": 32, "k": 512}
    # before: 1 + scale*lane, where three operations on integers make the lane; after: the accumulators added up
    expected = {MUL: 1, ADD: 1 + chains, STORE: 1}
    expected[operation] = expected.get(operation, 0) + 16 // chains * 512
    assert expected == at(flow.depth, **sizes)
    assert 16 * 512 == flow.work.operations()(**sizes) - 6 * chains
    assert math.isclose(chains, flow.instruction_parallelism(**sizes), rel_tol=0.02)
    steps = [r for r in flow.recurrences if r.loop == "step"]
    assert [("acc", (((operation, ()), 16 // chains),), chains)] == [(r.variable, r.terms, r.chains) for r in steps]


# }}}


# {{{ costs

# }}}


# {{{ guards

def test_a_guard_is_waited_for() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", """
        <> positive = a[i]*a[i] > 1 {id=test}
        if positive
            out[i] = b[i] {dep=test}
        end
    """))
    assert {LOAD: 1, MUL: 1, STORE: 1} == at(flow_of(unit).depth, n=32)


# }}}


# {{{ the corpus

@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("subject", [k for k in kernels() if k.realistic], ids=lambda k: k.name)
def test_bounds_on_every_kernel(subject: CorpusKernel) -> None:
    counts = counted(subject.build())
    flow = counts.flow
    sizes = max(subject.cases, key=lambda case: math.prod(case.values()))
    work, depth, parts = (at(chain, **sizes) for chain in (flow.work, flow.depth, flow.between_barriers))
    assert all(parts[operation] <= work[operation] for operation in parts)
    assert sum(depth[a] for a in depth if a[0] not in SHARED) <= sum(work[a] for a in work if a[0] not in SHARED)
    # the work-item with the longest loops does no less than the mean one
    assert counts.operations()(**sizes) <= flow.work.operations()(**sizes) * counts.work_items()(**sizes)
    assert flow.instruction_parallelism(**sizes) >= 1
    assert flow.memory_parallelism(**sizes) >= 1

# }}}


# {{{ stored counts

def test_dataflow_is_stored_with_the_counts() -> None:
    counts = counted(matmul_tiled.KERNEL.build())
    again = KernelCounts.from_json(json.loads(json.dumps(counts.to_json())))
    assert counts.flow.dataflow == again.flow.dataflow
    sizes = {"n": 64, "m": 256, "l": 32}
    assert at(counts.flow.depth, **sizes) == at(again.flow.depth, **sizes)
    assert at(counts.flow.depth, **sizes) == at(pickle.loads(pickle.dumps(counts)).flow.depth, **sizes)


# }}}


def test_counts_with_other_spans_walk_once() -> None:
    types = {"a": np.float32, "x": np.int32, "out": np.float32}
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = a[x[i]]", lang_version=(2018, 2), assumptions="n >= 1")
    counts = count(lp.add_dtypes(unit, types), cache=False)
    first, second = counts.most_local.flow, counts.least_local.flow
    assert first is not second
    assert counts.flow.recurrences == ()
    assert first._by_operations is second._by_operations is counts.flow._by_operations
    assert counts.depth() == counts.least_local.depth()

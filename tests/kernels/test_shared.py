"""The kernels that several kernel classes share: what they execute, and their outputs by hand."""

import math

import loopy as lp
import numpy as np
import pytest

from measurement_kernels._arithmetic import CHAINS, TERMS, chain_kernel
from measurement_kernels._memory import TILES, copied, strided, tile_copy, tile_sums
from measurement_kernels.spt_throughput import WIDTH, chains, chains_reference
from perfmodel import features
from perfmodel.counts import count
from perfmodel.features import stride_class
from test_kernels._nbody import potentials
from test_kernels._stencil import differences


def test_each_tile_is_stored_with_its_last_row_first():
    a = np.arange(12.0).reshape(4, 3)
    found = copied({"a": a, "out": np.zeros((4, 3)), "m": 4, "n": 3}, height=2)["out"]
    assert [[3, 4, 5], [0, 1, 2], [9, 10, 11], [6, 7, 8]] == found.tolist()


def test_the_halo_and_the_padding_are_not_copied():
    a = np.arange(24.0).reshape(4, 6)  # 2 by 2 cells, 2 rows and columns of halo, 2 columns of padding
    found = copied({"a": a, "out": np.zeros((2, 2)), "m": 2, "n": 2}, height=1, rows=2, halo=1, guarded=True)["out"]
    assert [[20, 0], [14, 0]] == found.tolist()


def test_a_group_loads_its_tile_with_the_halo_and_stores_the_tile():
    counts = count(tile_copy("t", width=16, height=2, rows=4, halo=1, guarded=True), subgroup_size=32)
    sizes = {"m": 16, "n": 32}  # 2 by 2 groups
    assert 4 * (8 + 2) * (16 + 2) == counts.accesses(array="a")(**sizes)
    assert 16 * 31 == counts.accesses(array="out")(**sizes)
    assert 4 * 32 == counts.barriers()(**sizes)


@pytest.mark.parametrize(("stride", "offsets", "expected"), [
    (2, 1, "stride2_1of2"), (4, 3, "stride4_3of4"), (8, 2, "strideN_1of4"), (8, 3, "strideN_2of4"),
])  # fmt: skip
def test_the_class_is_that_of_the_counted_kernel(stride, offsets, expected):
    assert expected == stride_class(stride, offsets, stride)
    arrays = [
        lp.GlobalArg("a", np.float32, shape=f"{stride}, n, k", order="F"), lp.GlobalArg("out", np.float32, shape="n"),
    ]
    counts = count(strided("out[i] = sum((r, o), a[o, i, r])", arrays, offsets, "load", (256,)))
    found = features.evaluate(counts, {"n": 1024, "k": 4})
    assert 1024 * 4 * offsets == found[f"global_load_32_{expected}"]


@pytest.mark.parametrize("form", CHAINS)
def test_every_chain_runs_every_step_k_times(form):
    counts = count(chain_kernel(["acc[u]*p", "acc[u]*p"], form, "float32", ("p", "scale"), "twice", (16, 16)))
    # n*n work-items: 2 steps in each of k trips of each chain, and scale*lane once for each chain.
    expected = 32 * 32 * CHAINS[form] * (2 * 5 + 1)
    assert expected == counts.operations(dtype="float32", kind="mul")(n=32, k=5)


@pytest.mark.parametrize("ilp", [1, 8])
@pytest.mark.parametrize("memory", ["register", "local", "global"])
def test_each_chain_has_its_own_operations(memory, ilp):
    counts, sizes = count(chains(memory, ilp), subgroup_size=32), {"n": 3 * WIDTH, "k": 8, "repeats": 5}
    each = 3 * WIDTH * ilp * 8 * 5
    found = {
        "register": counts.operations("float32", "mul"), "local": counts.accesses("local", "load"),
        "global": counts.accesses("global", "load", "a") if memory == "global" else None,
    }[memory]  # fmt: skip
    assert each == found(**sizes)
    assert (ilp if memory == "global" else 1) == counts.flow.memory_parallelism(**sizes)


def test_sums_by_hand():
    sizes = {"n": WIDTH, "k": 2, "repeats": 1}
    assert 2 * ((1 * 0.5 + 3) * 0.5 + 3) == chains_reference({**sizes, "p": 3.0, "q": 0.5}, "register", 2)["out"][0]
    a = np.arange(WIDTH * 2 * 2, dtype=float).reshape(WIDTH, 2, 2, 1)
    assert 2 + a[7].sum() == chains_reference({**sizes, "a": a}, "global", 2)["out"][7]
    cells = np.arange(2048.0)
    assert 1 + cells[9] + cells[10] == chains_reference({**sizes, "cells": cells}, "local", 1)["out"][9]


def test_tile_sums_repeat_over_the_groups():
    a = np.arange(2 * TILES * 2, dtype=float).reshape(2, -1)
    expected = [sum(a[row, 2 * tile + lane] for row in range(2) for tile in range(TILES)) for lane in (0, 1)]
    assert expected * 3 == list(tile_sums({"a": a, "n": 6}, work_group=(2,))["out"])


def test_potentials_of_two_points():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0]])  # at distance 3
    each = 1 / math.sqrt(0.5) + 1 / math.sqrt(9.5)
    assert pytest.approx([each, each]) == potentials({"x": x, "softening": 0.5})["potential"]


def test_differences_keep_the_border():
    u, result = np.arange(9.0).reshape(3, 3), np.full((3, 3), -1.0)
    found = differences({"u": u, "result": result, "source": 9.0})["result"]
    assert 4.0**2 + 9 - 4 * 4 + (7 + 1 + 5 + 3) == found[1, 1]
    assert 8 == (found == -1).sum()


@pytest.mark.parametrize(
    ("term", "expected"), [("rsqrt", 0.5), ("sqrt", 2), ("exp", math.exp(-4)), ("div", 0.375), ("mul", 1024)],
)
def test_terms_at_four(term, expected):
    assert pytest.approx(expected) == TERMS[term][1](4.0)

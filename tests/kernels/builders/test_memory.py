"""Guarded kernels leave out the last place of an axis."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from measurement_kernels.spt_throughput import WIDTH, chains, chains_reference
from perfmodel import features
from perfmodel.counts import count
from perfmodel.features import stride_class
from perfmodel.kernels.builders.arithmetic import CHAINS, chain_kernel
from perfmodel.kernels.builders.memory import copied, strided, tile_copy


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


@pytest.mark.parametrize(
    ("stride", "offsets", "expected"),
    [(2, 1, "stride2_1of2"), (4, 3, "stride4_3of4"), (8, 2, "strideN_1of4"), (8, 3, "strideN_2of4")],
)
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

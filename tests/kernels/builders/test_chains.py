"""Chains side by side: what is counted of them, and their sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.kernels.builders.chains import WIDTH, chains, chains_reference


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

"""Tiles with a halo: what is loaded, and what the copy must be."""

from __future__ import annotations

import numpy as np

from perfmodel.counts import count
from perfmodel.kernels.builders.memory import copied, tile_copy


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

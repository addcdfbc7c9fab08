"""GPU-MMS carried out: it sorts, and moves what section 7.3.2 counts."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.studies.multiway import Moved, merged_runs, sheared, sorted_by_heaps
from test_kernels.papers import multiway_merge, shear_sort

WARP = 32


def shuffled(n, seed=1):
    return np.random.default_rng(seed).permutation(n).astype(np.float64)


@pytest.mark.parametrize("ways", [2, 3, 4, 8])
@pytest.mark.parametrize("n", [1, 63, 64, 1000, 4096])
def test_any_keys_are_sorted(n, ways):
    assert np.array_equal(np.arange(n), sorted_by_heaps(shuffled(n), ways, 8, Moved()))
    equal = shuffled(n) // 50
    assert np.array_equal(np.sort(equal), sorted_by_heaps(equal, ways, 8, Moved()))


def test_a_worst_case_moves_as_much_as_any():
    """Free of conflicts and of data: what is moved and compared is the same for every input."""
    found = []
    for keys in (shuffled(2**14), np.arange(2.0**14), -np.arange(2.0**14), shuffled(2**14) % 7):
        moved = Moved()
        sorted_by_heaps(keys, 4, WARP, moved)
        found.append(moved)
    assert [found[0]] * 4 == found


def test_a_base_case_moves_what_section_7_3_1_counts():
    """4 w log w accesses for w elements, and 2 more for the rows once more; each element is loaded and stored once."""
    moved = Moved()
    assert np.array_equal(np.arange(1024), sheared(shuffled(1024).reshape(32, 32), 32, moved))
    assert (1024, 1024, 32 * (4 * 32 * 5 + 2 * 32)) == (moved.loaded, moved.stored, moved.shared)
    # A bitonic network of 32 elements has 15 steps of 16 pairs; each of 32 lanes sorts 11 times. The text has
    # 2 w log^3 w = 8000 operations for w elements, 3 operations a pair would be 7920: 11 phases of 240 pairs.
    assert 32 * 11 * 240 == moved.compared
    assert 2 * 5**3 * 1024 == pytest.approx(3 * moved.compared, rel=0.02)


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_a_round_moves_what_section_7_3_2_counts(ways):
    """4 w log K accesses to shared memory for w elements, of full runs; filling the heap first adds K - 1 merges."""
    n = 1024 * ways
    runs, moved = list(np.sort(shuffled(n).reshape(ways, -1), axis=1)), Moved()
    assert np.array_equal(np.arange(n), merged_runs(runs, WARP, moved))
    levels = int(log2(ways))
    filling = sum(2**level * (levels - level) for level in range(levels))
    assert (n, n) == (moved.loaded, moved.stored)
    assert 4 * WARP * (levels * (n // WARP) + filling) == moved.shared
    # w pairs in each of log 2w steps of a bitonic merge: 3 w (log w + 1) operations, where the text has 6 w log w.
    assert 3 * WARP * 6 * moved.shared / (4 * WARP) == 3 * moved.compared


@pytest.mark.parametrize("ways", [2, 8])
def test_the_device_kernel_merges_as_much(ways):
    """A merge is the study's; the heap is filled by K - 1 blocks that come out first, log K merges each."""
    merges, run = 3, 16
    counts, at = count(multiway_merge.build(ways), subgroup_size=WARP), {"merges": merges, "run": run}
    runs, moved = list(np.sort(shuffled(ways * run * WARP).reshape(ways, -1), axis=1)), Moved()
    merged_runs(runs, WARP, moved)
    levels = int(log2(ways))
    filling = sum(2**level * (levels - level) for level in range(levels))
    more = levels * (ways - 1) - filling  # merges for the same blocks
    of_one = WARP * WARP.bit_length()  # pairs
    assert merges * 2 * (moved.compared + more * of_one) == counts.operations(kind="minmax")(**at)
    assert merges * moved.stored == counts.accesses("global", direction="store")(**at)


def test_the_device_kernel_of_the_base_case_does_as_much():
    """A comparator is a minimum and a maximum; in addition the square is stored to local memory and loaded again."""
    moved = Moved()
    sheared(shuffled(1024).reshape(32, 32), WARP, moved)
    counts = count(shear_sort.build(), subgroup_size=WARP)
    assert 2 * moved.compared == counts.operations(kind="minmax")(blocks=1)
    assert moved.shared + 2 * 1024 == counts.accesses("local")(blocks=1)
    assert moved.loaded + moved.stored == counts.accesses("global")(blocks=1)

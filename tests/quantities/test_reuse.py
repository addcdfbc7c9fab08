"""Lines that caches fetch, by hand."""

from __future__ import annotations

import pytest

from perfmodel.quantities.reuse import AddressWalk as Walk, lines_fetched, lines_touched


@pytest.mark.parametrize(
    ("moves", "lines"),
    [
        ([(4, 32)], 4), ([(-4, 32)], 4), ([(0, 32)], 1), ([(8, 32)], 8),  # 32 bytes hold eight cells of four
        ([(4, 8), (32, 100)], 100), ([(1024, 16), (4, 8)], 16), ([(1024, 16), (4, 256)], 512), ([(64, 10)], 10),
    ],
)  # fmt: skip
def test_lines_of_an_access(moves, lines):
    assert lines == pytest.approx(lines_touched(moves, 4, 32), rel=0.1)


def product(n, tile, concurrent, capacity):
    """Lines of a and b that an n*n product fetches, by groups of tile*tile work-items that step k by one."""
    groups = n // tile
    a = Walk(4, ((0, tile), (4 * n, tile)), {"g.0": (0, groups), "g.1": (4 * n * tile, groups)}, (("k", 4, n),), "a")
    b = Walk(4, ((4, tile), (0, tile)), {"g.0": (4 * tile, groups), "g.1": (0, groups)}, (("k", 4 * n, n),), "b")
    return lines_fetched([a, b], {"g.0": groups, "g.1": groups}, concurrent, capacity, 32)


def test_a_cache_of_everything_fetches_each_line_once():
    assert {"a": 256 * 256 / 8, "b": 256 * 256 / 8} == product(256, 16, 16, 1e9)


def test_a_cache_of_one_iteration_fetches_for_each_group():
    # each group loads 16 lines of a for 8 steps, whose reuse fits, and 2 lines of b for each step; 256 groups
    assert {"a": 256 * 16 * 256 / 8, "b": 256 * 2 * 256} == product(256, 16, 1, 1024)


def test_groups_of_a_wave_share_rows():
    # 16 groups of a row of tiles run together: rows of a are fetched once for all of them, b once for each wave
    assert {"a": 256 * 256 / 8, "b": 16 * 256 * 256 / 8} == product(256, 16, 16, 4096)


def test_neighbours_in_a_stencil_are_fetched_once():
    rows = [
        Walk(4, ((4, 32),), {"g.0": (128, 8), "g.1": (1024, 100)}, (), "a", 1028 + shift) for shift in (0, -4, 4, -1024)
    ]
    grid = {"g.0": 8, "g.1": 100}
    assert {"a": 100 * 1024 / 32} == lines_fetched(rows, grid, 800, 1e9, 32)
    # one group at a time and no cache: three of the four begin in the same run of lines
    assert {"a": 2 * 800 * 4} == lines_fetched(rows, grid, 1, 0, 32)


def test_two_arrays_do_not_share():
    paths = [Walk(4, ((4, 32),), {"g.0": (128, 10)}, (), array) for array in ("a", "b")]
    assert {"a": 40, "b": 40} == lines_fetched(paths, {"g.0": 10}, 10, 1e9, 32)

"""Sectors, bank passes and cache lines of accesses, by hand."""

import pytest

from perfmodel.counts.nests.issues import IssuedAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.quantities import accesses

ONE = Count.constant(1)


def access(lanes, *moves, direction="load", space="global", bits=32):
    issued = IssuedAccess(space, direction, "a", bits, ONE, 32 * ONE, (32,), ONE, (), (), True, False)
    return accesses.SizedAccess(issued, 1.0, lanes, moves, 0, 32.0)


@pytest.mark.parametrize(("step", "sectors", "passes"), [(0, 1, 1), (4, 4, 1), (8, 8, 2), (128, 32, 32), (132, 32, 1)])
def test_neighbours_share_sectors_and_banks(step, sectors, passes):
    assert sectors == access((step,)).sectors(32, 32)
    assert passes == access((step,)).passes(32, 32)


@pytest.mark.parametrize(("moves", "words"), [
    ((), 0),
    ((("x", 4, 8, True), ("y", 4, 3, True)), 0),  # each iteration loads another cell
    ((("x", 0, 8, True), ("y", 4, 3, True)), 3),  # three cells of y wait for the next x
    ((("x", 4, 8, True), ("y", 0, 3, True)), 1),
    ((("k", 0, 9, False), ("x", 4, 8, True)), 0),  # k is a loop, after which the cells are loaded again
    ((("x", 0, 1, True), ("y", 4, 3, True)), 0),  # x has one value: nothing is used again
    ((("x", 0, 8, True), ("y", 4, 3, True), ("z", 0, 5, True), ("u", 4, 2, True)), 6),
])  # fmt: skip
def test_words_that_a_work_item_keeps(moves, words):
    assert words == access((4,), *moves).kept
    assert 2 * words == access((8,), *moves, bits=64).kept
    assert 0 == access((4,), *moves, direction="store").kept


def test_lines_that_a_lane_enters():
    # 12 bytes between the beginnings of 100 iterations: they reach over 99*12 + 4 bytes
    assert (99 * 12 + 4) / 32 / 100 == pytest.approx(access((4,), ("k", 12, 100, False)).entering(32))


@pytest.mark.parametrize(("moves", "lines"), [
    ([(4, 32)], 4), ([(-4, 32)], 4), ([(0, 32)], 1), ([(8, 32)], 8),  # 32 bytes hold eight cells of four
    ([(4, 8), (32, 100)], 100), ([(1024, 16), (4, 8)], 16), ([(1024, 16), (4, 256)], 512), ([(64, 10)], 10),
])  # fmt: skip
def test_lines_of_an_access(moves, lines):
    assert lines == pytest.approx(accesses.lines_touched(moves, 4, 32), rel=0.1)


def product(n, tile, concurrent, capacity):
    """Lines of a and b that an n*n product fetches, by groups of tile*tile work-items that step k by one."""
    groups = n // tile
    motion = accesses.AccessMotion
    a = motion(4, ((0, tile), (4 * n, tile)), {"g.0": (0, groups), "g.1": (4 * n * tile, groups)}, (("k", 4, n),), "a")
    b = motion(4, ((4, tile), (0, tile)), {"g.0": (4 * tile, groups), "g.1": (0, groups)}, (("k", 4 * n, n),), "b")
    return accesses.lines_fetched([a, b], {"g.0": groups, "g.1": groups}, concurrent, capacity, 32)


def test_a_cache_of_everything_fetches_each_line_once():
    assert {"a": 256 * 256 / 8, "b": 256 * 256 / 8} == product(256, 16, 16, 1e9)


def test_groups_of_a_wave_share_rows():
    # 16 groups of a row of tiles run together: rows of a are fetched once for all of them, b once for each wave
    assert {"a": 256 * 256 / 8, "b": 16 * 256 * 256 / 8} == product(256, 16, 16, 4096)


def test_neighbours_in_a_stencil_are_fetched_once():
    groups = {"g.0": (128, 8), "g.1": (1024, 100)}
    rows = [accesses.AccessMotion(4, ((4, 32),), groups, (), "a", 1028 + shift) for shift in (0, -4, 4, -1024)]
    grid = {"g.0": 8, "g.1": 100}
    assert {"a": 100 * 1024 / 32} == accesses.lines_fetched(rows, grid, 800, 1e9, 32)
    # one group at a time and no cache: three of the four begin in the same run of lines
    assert {"a": 2 * 800 * 4} == accesses.lines_fetched(rows, grid, 1, 0, 32)


@pytest.mark.parametrize(("steps", "shape", "size", "expected"), [
    ((0,), (64,), 4, 1),  # all lanes read one cell
    ((4,), (64,), 4, 1),
    ((8,), (64,), 8, 2),  # 32 cells of 8 bytes are two lines
    ((12,), (64,), 4, 3),
    ((512,), (64,), 4, 32),
    ((-4,), (64,), 4, 2),  # backwards from the first cell of a line: that, and 31 cells of the line before
    ((4, 512), (16, 16), 4, 2),  # two rows of 16 lanes
    ((512, 4), (16, 16), 4, 16),  # two columns of 16 lanes, side by side
    ((4,), (8,), 4, 1),  # a sub-group of 8 lanes
    ((16,), (64,), 16, 4),
    ((512,), (64,), 512, 4 * 32),  # each cell is four segments
])  # fmt: skip
def test_segments_of_aligned_accesses(steps, shape, size, expected):
    assert expected == accesses.segments_touched(steps, shape, 32, size, 128, 0)


def test_segments_of_an_access_that_loops_move() -> None:
    moves = ((12, 5), (-40, 7), (32, 3))
    starts = (8 + 12 * i - 40 * j + 32 * k for i in range(5) for j in range(7) for k in range(3))
    touched = [len({(start + 4 * lane) // 32 for lane in range(32)}) for start in starts]
    assert pytest.approx(sum(touched) / len(touched)) == accesses.segments_touched((4,), (32,), 32, 4, 32, 8, moves)


@pytest.mark.parametrize(("steps", "shape", "size", "expected"), [
    ((4,), (32,), 4, 1),
    ((0,), (32,), 4, 1),
    ((16,), (32,), 4, 4),
    ((128,), (32,), 4, 32),
    ((132,), (32,), 4, 1),  # padded
    ((8,), (32,), 8, 2),  # 64 words over 32 banks
    ((64, 4), (16, 16), 4, 8),  # two columns of a 16 by 16 tile: 32 words in banks 0, 1, 16 and 17
    ((4, 64), (16, 16), 4, 1),  # rows of it
])  # fmt: skip
def test_passes_through_the_banks(steps, shape, size, expected):
    assert expected == accesses.bank_passes(steps, shape, 32, size, 32)

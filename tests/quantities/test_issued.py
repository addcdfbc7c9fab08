"""What one access touches, and what a work-item keeps of it, by hand."""

from __future__ import annotations

import pytest

from perfmodel.counts.nests.nest import IssuedAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.quantities.issued import SizedAccess

ONE = Count.constant(1)


def access(lanes, *moves, direction="load", space="global", bits=32):
    issued = IssuedAccess(space, direction, "a", bits, ONE, 32 * ONE, (32,), ONE, (), (), True, False)
    return SizedAccess(issued, 1.0, lanes, moves, 0, 32.0)


@pytest.mark.parametrize(("step", "sectors", "passes"), [(0, 1, 1), (4, 4, 1), (8, 8, 2), (128, 32, 32), (132, 32, 1)])
def test_neighbours_share_sectors_and_banks(step, sectors, passes):
    assert sectors == access((step,)).sectors(32, 32)
    assert passes == access((step,)).passes(32, 32)


def test_an_unknown_address_takes_a_sector_and_a_pass_for_each_lane():
    assert (32, 32) == (access(None).sectors(32, 32), access(None).passes(32, 32))


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ((), 0),
        ((("x", 4, 8, True), ("y", 4, 3, True)), 0),  # each iteration loads another cell
        ((("x", 0, 8, True), ("y", 4, 3, True)), 3),  # three cells of y wait for the next x
        ((("x", 4, 8, True), ("y", 0, 3, True)), 1),
        ((("k", 0, 9, False), ("x", 4, 8, True)), 0),  # k is a loop, after which the cells are loaded again
        ((("x", 0, 1, True), ("y", 4, 3, True)), 0),  # x has one value: nothing is used again
        ((("x", 0, 8, True), ("y", 4, 3, True), ("z", 0, 5, True), ("u", 4, 2, True)), 6),
    ],
)
def test_words_that_a_work_item_keeps(moves, words):
    assert words == access((4,), *moves).kept
    assert 2 * words == access((8,), *moves, bits=64).kept
    assert 0 == access((4,), *moves, direction="store").kept


def test_lines_that_a_lane_enters():
    # 12 bytes between the beginnings of 100 iterations: they reach over 99*12 + 4 bytes
    assert (99 * 12 + 4) / 32 / 100 == pytest.approx(access((4,), ("k", 12, 100, False)).entering(32))

"""Segments and banks that sub-groups touch, by hand."""

from __future__ import annotations

import pytest

from perfmodel.quantities.traffic import bank_passes, segments_touched


@pytest.mark.parametrize(
    ("steps", "shape", "size", "expected"),
    [
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
    ],
)
def test_segments_of_aligned_accesses(steps, shape, size, expected):
    assert expected == segments_touched(steps, shape, 32, size, 128, 0)


def test_sub_groups_of_a_group_differ():
    # 48 lanes of 12 bytes: the first sub-group touches bytes 0 to 375, three lines; the second 384 to 567, two
    assert 2.5 == segments_touched((12,), (48,), 32, 4, 128, 0)


def test_places_follow_from_the_loops():
    # two cells of each pair in turn: no access crosses a line
    assert 2 == segments_touched((8,), (64,), 32, 4, 128, 0, ((4, 2), (512, 100)))
    # a stencil's row begins one cell before a line: two lines, as from any word but the first
    assert 2 == segments_touched((4,), (32,), 32, 4, 128, -4, ((128, 10),))
    # rows of 33 cells: the first of 32 rows begins on a line
    assert (1 + 31 * 2) / 32 == segments_touched((4,), (32,), 32, 4, 128, 0, ((132, 64),))


@pytest.mark.parametrize(
    ("steps", "shape", "size", "expected"),
    [
        ((4,), (32,), 4, 1),
        ((0,), (32,), 4, 1),
        ((16,), (32,), 4, 4),
        ((128,), (32,), 4, 32),
        ((132,), (32,), 4, 1),  # padded
        ((8,), (32,), 8, 2),  # 64 words over 32 banks
        ((64, 4), (16, 16), 4, 8),  # two columns of a 16 by 16 tile: 32 words in banks 0, 1, 16 and 17
        ((4, 64), (16, 16), 4, 1),  # rows of it
    ],
)
def test_passes_through_the_banks(steps, shape, size, expected):
    assert expected == bank_passes(steps, shape, 32, size, 32)

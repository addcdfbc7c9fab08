"""Lines and sets of boxes by hand, and by marking every byte."""

from __future__ import annotations

from itertools import product

import pytest

from perfmodel.counts.traffic.boxes import Patch, box_of, lines_of_run, sets_reached

LINE = 64


def marked(dims: tuple[tuple[int, int], ...], starts: tuple[int, ...], size: int) -> set[int]:
    """The lines that every byte of every access lies in."""
    moves = product(*(range(extent) for _, extent in dims))
    cells = [sum(step * k for (step, _), k in zip(dims, move, strict=True)) for move in moves]
    return {(start + cell + byte) // LINE for start in starts for cell in cells for byte in range(size)}


@pytest.mark.parametrize(
    ("dims", "starts", "size"),
    [
        ((), (0,), 4),
        (((4, 16),), (0,), 4),  # a line
        (((4, 16), (64, 4)), (0,), 4),  # four, in two loops
        (((4, 16), (4096, 16)), (0,), 4),  # a tile
        (((8, 32),), (0,), 4),  # every second cell
        (((128, 8),), (0,), 4),  # a line of each two
        (((4, 16), (4, 5)), (0,), 4),  # a window that slides
        (((4, 64), (1024, 8), (1024, 3)), (0,), 4),  # rows that are swept twice
        (((4, 64), (1024, 8)), (0, 1020, 1024, 1028, 2048), 4),  # a stencil
        (((4, 16),), (0, 4096), 4),  # far apart
        (((64, 4), (256, 3)), (0,), 64),  # vectors of 16
    ],
)  # fmt: skip
def test_lines_of_boxes(dims: tuple[tuple[int, int], ...], starts: tuple[int, ...], size: int) -> None:
    expected = len(marked(dims, starts, size))
    found = box_of(dims, starts, size, LINE, LINE).lines
    # of the stencil, the corners of the widened box are in lines of their own at most
    assert expected == pytest.approx(found, rel=0.12 if len(starts) > 2 else 1e-9)


def test_a_run_is_placed_anywhere_on_its_grid() -> None:
    for length, grid, start in ((64, 4, 0), (100, 4, 0), (68, 8, 4), (256, 64, 32), (4, 4, 0), (1, 64, 63)):
        places = range(start % grid, LINE, grid)
        expected = sum((place + length - 1) // LINE + 1 for place in places) / len(places)
        assert expected == pytest.approx(lines_of_run(length, LINE, grid, start))


def test_a_power_of_two_pitch_reaches_few_sets() -> None:
    rows, padded = (box_of(((4, 16), (pitch, 16)), (0,), 4, LINE, LINE) for pitch in (4096, 4160))
    assert (16.0, 1.0, 16.0) == (rows.lines, rows.place(64).reached, Patch(rows, rows.lines).load(64))
    assert (16.0, 16.0, 1.0) == (padded.lines, padded.place(64).reached, Patch(padded, padded.lines).load(64))


def test_a_part_of_the_lines_reaches_no_more_sets_than_it_has_lines() -> None:
    box = box_of(((4, 16), (4160, 16)), (0,), 4, LINE, LINE)
    part = Patch(box, box.lines).part(0.25)
    assert (4.0, 4.0, 1.0) == (part.lines, part.reached(64), part.load(64))
    assert 4 / 2 == part.load(2)


@pytest.mark.parametrize("pitch", [64, 192, 256, 1024, 1032, 1088, 4096, 5000])
def test_sets_reached_by_single_lines(pitch: int) -> None:
    runs = [k * pitch % 4096 // LINE for k in range(16)]
    numbers = [runs.count(place) for place in set(runs)]
    expected = sum(numbers) ** 2 / sum(number**2 for number in numbers)
    if pitch % 64 == 0:  # rows that lie on the same place are counted once for all
        expected = float(len(set(runs)))
    assert expected == pytest.approx(sets_reached(pitch, 16, 1.0, 64, LINE))

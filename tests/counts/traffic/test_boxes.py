"""Lines and sets of boxes by hand, and by marking every byte; chances to stay in a set, by hand and by drawing."""

import random
from itertools import product

import pytest

from perfmodel.counts.traffic.boxes import BoxLines, box_of, chance_to_stay, lines_of_run, overlap, sets_reached

LINE = 64


def marked(dims: tuple[tuple[int, int], ...], starts: tuple[int, ...], size: int) -> set[int]:
    """The lines that every byte of every access lies in."""
    moves = product(*(range(extent) for _, extent in dims))
    cells = [sum(step * k for (step, _), k in zip(dims, move, strict=True)) for move in moves]
    return {(start + cell + byte) // LINE for start in starts for cell in cells for byte in range(size)}


@pytest.mark.parametrize(("dims", "starts", "size"), [
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
])  # fmt: skip
def test_lines_of_boxes(dims: tuple[tuple[int, int], ...], starts: tuple[int, ...], size: int) -> None:
    expected = len(marked(dims, starts, size))
    box = box_of(dims, starts, size, LINE, LINE)
    # of the stencil, the corners of the widened box are in lines of their own at most
    assert expected == pytest.approx(box.lines, rel=0.12 if len(starts) > 2 else 1e-9)


def test_a_run_is_placed_anywhere_on_its_grid() -> None:
    for length, grid, start in ((64, 4, 0), (100, 4, 0), (68, 8, 4), (256, 64, 32), (4, 4, 0), (1, 64, 63)):
        places = range(start % grid, LINE, grid)
        expected = sum((place + length - 1) // LINE + 1 for place in places) / len(places)
        assert expected == pytest.approx(lines_of_run(length, LINE, grid, start))


def test_a_power_of_two_pitch_reaches_few_sets() -> None:
    rows, padded = (box_of(((4, 16), (pitch, 16)), (0,), 4, LINE, LINE) for pitch in (4096, 4160))
    for box, reached in ((rows, 1.0), (padded, 16.0)):
        assert (16.0, reached, 16 / reached) == (
            box.lines, box.in_sets(64).reached, BoxLines(box, box.lines).lines_per_set(64)
        )


@pytest.mark.parametrize("pitch", [64, 192, 256, 1024, 1032, 1088, 4096, 5000])
def test_sets_reached_by_single_lines(pitch: int) -> None:
    runs = [k * pitch % 4096 // LINE for k in range(16)]
    numbers = [runs.count(place) for place in set(runs)]
    expected = sum(numbers) ** 2 / sum(number**2 for number in numbers)
    if pitch % 64 == 0:  # rows that lie on the same place are counted once for all
        expected = float(len(set(runs)))
    assert expected == pytest.approx(sets_reached(pitch, 16, 1.0, 64, LINE))


def test_what_fits_stays_and_what_does_not_goes() -> None:
    assert 1.0 == chance_to_stay(3, [(5, 1.0)], 8)
    assert 0.0 == chance_to_stay(3, [(6, 1.0)], 8)
    assert 0.0 == chance_to_stay(9, [], 8)


def test_a_box_that_reaches_a_quarter_of_the_sets_empties_only_these() -> None:
    assert 0.75 == chance_to_stay(1, [(32, 0.25)], 8)


def test_a_mean_of_lines_is_the_numbers_beside_it() -> None:
    # 7.25 lines in each set: 7 in three quarters of the sets, 8 in the others, where one more does not fit
    assert 0.75 == pytest.approx(chance_to_stay(1, [(7.25, 1.0)], 8))


def test_several_boxes_against_drawn_sets() -> None:
    others = [(2, 0.5), (3, 0.25), (4, 0.7)]
    generator = random.Random(0)
    drawn = sum(
        1 + sum(load for load, share in others if generator.random() < share) <= 8 for _ in range(20000)
    ) / 20000
    assert drawn == pytest.approx(chance_to_stay(1, others, 8), abs=0.01)


@pytest.mark.parametrize("start", range(0, 16, 3))
@pytest.mark.parametrize("other", range(0, 16, 5))
@pytest.mark.parametrize("width", [1, 5, 12])
def test_overlap_on_a_circle(start: int, other: int, width: int) -> None:
    covered = {(start + k) % 16 for k in range(4)}
    covering = {(other + k) % 16 for k in range(width)}
    assert len(covered & covering) / 4 == overlap(start, 4, other, width, 16)

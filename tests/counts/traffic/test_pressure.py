"""Chances to stay in a set, by hand and by drawing."""

from __future__ import annotations

import random

import pytest

from perfmodel.counts.traffic.pressure import chance_to_stay, overlap


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
    own = {(start + k) % 16 for k in range(4)}
    more = {(other + k) % 16 for k in range(width)}
    assert len(own & more) / 4 == overlap(start, 4, other, width, 16)

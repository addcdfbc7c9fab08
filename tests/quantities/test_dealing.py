"""Groups that are dealt by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.quantities.dealing import busiest_over_mean, rounds_over_mean


def test_three_equal_groups_on_two_units_take_as_long_as_four() -> None:
    assert [4 / 3] * 3 == [
        rounds_over_mean(3, 2),
        *(busiest_over_mean(np.ones(3), 2, in_shares=in_shares) for in_shares in (False, True)),
    ]


@pytest.mark.parametrize("units", [1, 2, 3, 8])
@pytest.mark.parametrize("groups", [1, 2, 7, 24, 100])
@pytest.mark.parametrize("in_shares", [False, True])
def test_equal_groups_are_dealt_in_rounds(groups: int, units: int, in_shares: bool) -> None:
    assert rounds_over_mean(groups, units) == pytest.approx(busiest_over_mean(np.full(groups, 3.0), units, in_shares))


def test_shares_of_a_triangle() -> None:
    # the first unit takes 4 of 8 groups; until it is free the other one takes two, one and one
    assert (8 + 7 + 6 + 5) / 18 == busiest_over_mean(np.arange(8.0, 0.0, -1.0), 2, in_shares=True)
    # the first unit is free after 1 + 2 + 3 + 4 and takes 7, the second after 5 + 6 and takes 8
    assert (5 + 6 + 8) / 18 == busiest_over_mean(np.arange(1.0, 9.0), 2, in_shares=True)


def test_many_groups_are_taken_in_pieces() -> None:
    """Of 1100 groups PoCL's first unit takes 512: the first 512 groups have all the work."""
    work = np.concatenate([np.ones(512), np.zeros(588)])
    assert 2.0 == busiest_over_mean(work, 2, in_shares=True)
    assert 1.0 == busiest_over_mean(work, 2, in_shares=False)
    # of 1024 groups it takes 64 at a time
    assert 1.0 == busiest_over_mean(work[:1024], 2, in_shares=True)


def test_nothing_to_do_waits_for_nothing() -> None:
    assert [1.0, 1.0, 1.0] == [
        rounds_over_mean(0, 2), busiest_over_mean(np.zeros(0), 2, False), busiest_over_mean(np.zeros(3), 2, True)
    ]  # fmt: skip

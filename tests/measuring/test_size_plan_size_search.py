"""Choice of sizes, with times that are made up."""

from __future__ import annotations

import pytest

from perfmodel.kernels import Ladder
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.size_plan import Least, Trial, search_sizes

SIZES = Ladder(lambda e: ({"n": 2**e},), start=2)


def choose(sizes=SIZES, seconds=lambda n: n * 1e-6, most=2**30, least=Least(), **settings):  # noqa: B008
    tried = []

    def trial(point):
        tried.append(point)
        return Trial((seconds(**point),), point["n"] // 4)

    campaign = Campaign("test", **settings)
    points = search_sizes(sizes, trial, lambda point: point["n"] <= most, least, campaign)
    return [point["n"] for point in points], tried


def test_the_lowest_rung_reaches_the_least_time():
    assert [128, 256, 512, 1024] == choose(least=Least(seconds=100e-6))[0]


def test_the_lowest_rung_has_the_least_groups():
    assert [32, 64, 128, 256] == choose(least=Least(groups=8))[0]


def test_rungs_stop_at_the_longest_run():
    assert [4, 8, 16] == choose(longest_s=16e-6)[0]


def test_nothing_longer_than_twice_the_limit_is_tried():
    _, tried = choose(seconds=lambda n: n * 1e-6, longest_s=20e-6)
    assert 32 > max(point["n"] for point in tried)


def test_so_many_rungs_are_owed_whatever_they_take():
    assert [4, 8, 16, 32] == choose(longest_s=5e-6, least_rungs=4)[0]


def test_rungs_stop_at_the_memory():
    assert [4, 8] == choose(most=8)[0]


def test_memory_below_the_least_leaves_the_largest_that_fits():
    assert [64] == choose(most=64, least=Least(seconds=1.0))[0]


def test_memory_too_small_for_anything_leaves_nothing():
    assert [] == choose(most=1)[0]


def test_a_start_that_takes_too_long_is_measured_alone():
    assert [4] == choose(seconds=lambda n: 1.0)[0]


def test_rungs_and_points_can_be_fewer():
    both = Ladder(lambda e: ({"n": 2**e}, {"n": 2**e + 1}), start=2)
    assert [4, 5, 8, 9] == choose(sizes=both, rungs=2)[0]
    assert [4, 8] == choose(sizes=both, rungs=2, points=1)[0]


def test_steps_of_two_are_kept_from_the_lowest_rung():
    assert [8, 32, 128, 512] == choose(sizes=Ladder(SIZES.at, start=2, step=2), least=Least(seconds=8e-6))[0]


@pytest.mark.parametrize(("cost", "expected"), [(1e-6, [16, 64, 256]), (1e-4, [1, 4, 16]), (1e-3, [1, 4])])
def test_a_rung_ordered_by_time_keeps_its_longest_that_are_short_enough(cost, expected):
    sizes = Ladder(
        lambda e: tuple({"n": 2**e, "k": k} for k in (1, 4, 16, 64, 256)),
        start=2, rungs=1, longest=3,
    )  # fmt: skip

    def trial(point):
        return Trial((cost * point["n"] * point["k"],), 1)

    points = search_sizes(sizes, trial, lambda point: True, Least(), Campaign("test", longest_s=0.02))
    assert expected == [point["k"] for point in points]


def test_a_teams_quickest_must_stand_out_and_its_slowest_be_short_enough():
    def trial(point):
        return Trial((point["n"] * 1e-6, point["n"] * 4e-6), 1)

    campaign = Campaign("test", longest_s=200e-6)
    points = search_sizes(SIZES, trial, lambda point: True, Least(seconds=10e-6), campaign)
    assert [16, 32] == [point["n"] for point in points]

"""Choice of sizes, with times that are made up."""

from __future__ import annotations

import pytest

from perfmodel.kernels import Ladder
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.size_plan import Trial, search_sizes

SIZES = Ladder(lambda e: ({"n": 2**e},), start=2)
BOTH = Ladder(lambda e: ({"n": 2**e}, {"n": 2**e + 1}), start=2)


def choose(sizes=SIZES, seconds=lambda n: n * 1e-6, most=2**30, least=0, **settings):
    """Return the chosen and the tried sizes; those from `least` on suffice."""
    tried = []

    def trial(point):
        tried.append(point["n"])
        return Trial(seconds(**point), point["n"] >= least)

    points = search_sizes(sizes, trial, lambda point: point["n"] <= most, Campaign("test", **settings))
    return [point["n"] for point in points], tried


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"least": 100}, [128, 256, 512, 1024]),
        ({"longest_s": 16e-6}, [4, 8, 16]),
        ({"longest_s": 5e-6, "least_rungs": 4}, [4, 8, 16, 32]),
        ({"most": 8}, [4, 8]),
        ({"most": 64, "least": 1000}, [64]),
        ({"most": 1}, []),
        ({"seconds": lambda n: 1.0}, [4]),
        ({"sizes": BOTH, "rungs": 2}, [4, 5, 8, 9]),
        ({"sizes": BOTH, "rungs": 2, "points": 1}, [4, 8]),
        ({"sizes": Ladder(SIZES.at, start=2, step=2), "least": 8}, [8, 32, 128, 512]),
    ],
)
def test_the_chosen_sizes(settings, expected):
    assert expected == choose(**settings)[0]


def test_nothing_longer_than_twice_the_limit_is_tried():
    assert 32 > max(choose(longest_s=20e-6)[1])


@pytest.mark.parametrize(("cost", "expected"), [(1e-6, [16, 64, 256]), (1e-4, [1, 4, 16]), (1e-3, [1, 4])])
def test_a_rung_ordered_by_time_keeps_its_longest_that_are_short_enough(cost, expected):
    sizes = Ladder(
        lambda e: tuple({"n": 2**e, "k": k} for k in (1, 4, 16, 64, 256)),
        start=2, rungs=1, longest=3,
    )  # fmt: skip

    def trial(point):
        return Trial(cost * point["n"] * point["k"], True)

    points = search_sizes(sizes, trial, lambda point: True, Campaign("test", longest_s=0.02))
    assert expected == [point["k"] for point in points]

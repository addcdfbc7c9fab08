"""Choices that count as right because noise alone may separate them from the best."""

from __future__ import annotations

import math

import pytest

from perfmodel.compare import Comparison
from scripts.lab.scoreboard.top_choices import noise_of, top1_within_noise
from tests.standins import Row, Rows


def rows(*pairs: tuple[float, float]) -> list[Comparison]:
    return [
        Comparison("a", {"n": 1}, measured, predicted, variant={"v": place})
        for place, (measured, predicted) in enumerate(pairs)
    ]


def noise(*shares: float) -> dict[tuple[str, str, str], float]:
    return {("a", f"v={place}", "n=1"): share for place, share in enumerate(shares)}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [((0.0, 0.0), 0.0), ((0.04, 0.0), 0.0), ((0.05, 0.0), 1.0), ((0.0, 0.05), 1.0)],
)
def test_the_chosen_one_may_be_slower_by_the_larger_noise(shares, expected):
    # the second one is chosen, and takes 4.5 % longer
    assert expected == top1_within_noise(rows((1.0, 2.0), (1.045, 1.0)), noise(*shares))


def test_noise_is_at_least_the_usual_disagreement_of_visits():
    shares = (0.01, 0.02, 0.09, math.nan)
    measured = Rows(
        tuple(Row("a", {"n": 1}, 1.0, "", {"v": i}, disagreement=share) for i, share in enumerate(shares)), {}
    )
    # the median of 0.01, 0.02 and 0.09 is 0.02
    assert noise(0.02, 0.02, 0.09, 0.02) == noise_of(measured)
    once = Rows((Row("a", {"n": 1}, 1.0, "", {"v": 0}),), {})
    assert noise(0.0) == noise_of(once)

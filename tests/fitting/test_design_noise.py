"""Noise of measured times and the weights that follow, by hand."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from perfmodel.fitting.design import agreement_weights, noise_weights, relative_noise
from tests.standins import Row, Rows


def row(seconds: float, *runs: float, disagreement: float = nan) -> Row:
    return Row("any", {}, seconds, "any", kept_s=runs, disagreement=disagreement)


def test_noise_is_the_median_deviation_over_the_time():
    # median 3, deviations 2 1 0 1 97: their median is 1, over a time of 2
    assert pytest.approx(1.4826 / 2) == relative_noise(row(2.0, 1.0, 2.0, 3.0, 4.0, 100.0))
    assert 0.0 == relative_noise(row(2.0, 2.0, 2.0))


@pytest.mark.parametrize("runs", [(), (1.0,)])
def test_fewer_than_two_runs_count_as_noise_of_one(runs):
    assert 1.0 == relative_noise(row(1.0, *runs))


def test_weights_are_one_over_the_squares():
    rows = Rows((row(1.0, 1.0, 1.0), row(1.0), row(1.4826, 0.9, 1.1)), {})
    assert pytest.approx([400.0, 1 / 1.0025, 1 / (0.0025 + 0.01)]) == noise_weights(rows)
    assert pytest.approx([4.0, 0.8, 1 / 0.26]) == noise_weights(rows, floor=0.5)
    assert (0,) == np.shape(noise_weights(Rows((), {})))


def test_the_noise_of_several_visits_is_how_far_the_lowest_two_differ():
    slow = row(1.0, 1.0, 1.0, 2.0, 2.0, 2.0, disagreement=0.0)  # slow in one visit of three says nothing
    assert 0.0 == relative_noise(slow)
    draws = np.random.default_rng(7).normal(1.0, 0.03, (2, 100_000))
    mean = float(np.mean(np.abs(draws[0] - draws[1])))
    assert pytest.approx(0.03, rel=0.01) == relative_noise(row(1.0, 1.0, 1.0, disagreement=mean))


def test_rows_whose_visits_disagree_weigh_less_and_all_others_one():
    rows = Rows(tuple(row(1.0, 1.0, disagreement=apart) for apart in (nan, 0.0, 0.05, 0.1, 0.5)), {})
    assert [1.0, 1.0, 1.0, pytest.approx(0.25), pytest.approx(0.01)] == list(agreement_weights(rows))

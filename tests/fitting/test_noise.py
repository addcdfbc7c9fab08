"""Noise of measured times and the weights that follow, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.fitting.noise import noise_weights, relative_noise
from tests.standins import Row, Rows


def row(seconds: float, *runs: float) -> Row:
    return Row("any", {}, seconds, "any", kept_s=runs)


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

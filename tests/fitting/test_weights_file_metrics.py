"""Errors of predictions, by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.fitting.weights_file import LEAST_ERROR, geometric_mean_error, relative_errors


def test_relative_errors_are_of_the_measured_time():
    assert [0.5, 0.25, 2.0, 1.0] == relative_errors([1.5, 3.0, -1.0, 0.0], [1.0, 4.0, 1.0, 7.0]).tolist()
    assert 0.5 == float(relative_errors(3.0, 2.0))


def test_the_geometric_mean_of_errors():
    assert pytest.approx(0.2) == geometric_mean_error([0.1, 0.4])
    assert pytest.approx((0.5 * 0.25 * 2) ** (1 / 3)) == geometric_mean_error([0.5, 0.25, 2.0])


def test_an_error_counts_as_a_thousandth_at_least():
    assert 1e-3 == LEAST_ERROR
    assert pytest.approx(1e-3) == geometric_mean_error([0.0, 1e-9])
    assert pytest.approx(math.sqrt(1e-3 * 0.1)) == geometric_mean_error([0.0, 0.1])


def test_of_no_error_there_is_no_mean():
    assert math.isnan(geometric_mean_error([]))
    assert math.inf == geometric_mean_error([0.1, math.inf])

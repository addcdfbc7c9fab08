"""Probabilities of being the fastest: closed forms, drawn errors, limits and speed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from perfmodel.fitting.selection import difference_quantile, distribution, probabilities_of_best, smallest_set

FREEDOMS = (None, 8, 4, 2)


def drawn(freedom, shape, seed=3):
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) if freedom is None else generator.standard_t(freedom, shape)


@pytest.mark.parametrize("apart", [0.0, 0.1, 0.7, 2.5, 6.0])
def test_two_variants_with_normal_errors(apart):
    # e_1 - e_2 has the variance 2, so that the second is the fastest with Phi(-d / (s sqrt 2))
    expected = stats.norm.cdf(-apart / math.sqrt(2))
    first, second = probabilities_of_best([1.0, math.exp(0.2 * apart)], 0.2)
    assert pytest.approx(expected, abs=1e-12) == second
    assert pytest.approx(1 - expected, abs=1e-12) == first


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_many_variants_against_drawn_errors(freedom):
    times, deviation, draws = np.array([1.0, 1.02, 1.1, 1.4, 1.41, 2.5, 40.0]), 0.15, 100_000
    errors = np.log(times) + deviation * drawn(freedom, (draws, len(times)))
    expected = np.bincount(errors.argmin(axis=1), minlength=len(times)) / draws
    found = probabilities_of_best(times, deviation, freedom)
    assert pytest.approx(1.0, abs=1e-12) == found.sum()
    # four standard deviations of a share of so many draws
    assert np.all(abs(expected - found) < 4 * np.sqrt(0.25 / draws))
    assert sorted(found, reverse=True) == list(found)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_equal_variants_share_alike_however_many(freedom):
    for count in (1, 3, 500):
        np.testing.assert_allclose(np.full(count, 1 / count), probabilities_of_best(np.full(count, 7e-5), 0.3, freedom))


@pytest.mark.parametrize("freedom", [2, 4, 8])
def test_student_s_distribution(freedom):
    x = np.linspace(-30, 30, 121)
    density, survival = distribution(freedom)
    np.testing.assert_allclose(stats.t.pdf(x, freedom), density(x), rtol=1e-12)
    np.testing.assert_allclose(stats.t.sf(x, freedom), survival(x), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_differences(freedom):
    if freedom is None:
        assert pytest.approx(math.sqrt(2) * stats.norm.ppf(0.75), abs=1e-9) == difference_quantile(None, 0.75)
    errors = drawn(freedom, (2, 200_000))
    for share in (0.1, 0.5, 0.75, 0.9):
        found = difference_quantile(freedom, share)
        assert pytest.approx(share, abs=6e-3) == np.mean(errors[0] - errors[1] <= found)


def test_the_smallest_set():
    chances = [0.5, 0.25, 0.125, 0.125]
    assert [1, 1, 2, 3, 4] == [smallest_set(chances, level) for level in (0.3, 0.5, 0.75, 0.8, 0.99)]
    assert 4 == smallest_set([0.25] * 4, 1 - 1e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_set_holds_the_best_as_often_as_it_says(freedom):
    """Kernels with 6 variants: true times are the predictions times drawn errors, and a common factor."""
    generator, inside = np.random.default_rng(11), []
    for errors in 0.25 * drawn(freedom, (800, 6), seed=12):
        predicted = np.sort(np.exp(0.4 * generator.standard_normal(6)))
        chances = probabilities_of_best(predicted, 0.25, freedom)
        fastest = np.argmin(np.log(predicted) + errors + generator.standard_normal())
        inside.append(fastest < smallest_set(chances, 0.9))
    assert 0.88 <= np.mean(inside) <= 0.97

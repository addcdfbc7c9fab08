"""Probabilities of being the fastest, and the scatter of errors between variants: closed forms and drawn errors."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from perfmodel.fitting import selection
from tests.standins import Row

FREEDOMS = (None, 8, 4, 2)


def drawn(freedom, shape, seed=3):
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) if freedom is None else generator.standard_t(freedom, shape)


@pytest.mark.parametrize("apart", [0.0, 0.1, 0.7, 2.5, 6.0])
def test_two_variants_with_normal_errors(apart):
    # e_1 - e_2 has the variance 2, so that the second is the fastest with Phi(-d / (s sqrt 2))
    expected = stats.norm.cdf(-apart / math.sqrt(2))
    first, second = selection.probabilities_of_best([1.0, math.exp(0.2 * apart)], 0.2)
    assert pytest.approx(expected, abs=1e-12) == second
    assert pytest.approx(1 - expected, abs=1e-12) == first


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_many_variants_against_drawn_errors(freedom):
    times, deviation, draws = np.array([1.0, 1.02, 1.1, 1.4, 1.41, 2.5, 40.0]), 0.15, 100_000
    errors = np.log(times) + deviation * drawn(freedom, (draws, len(times)))
    expected = np.bincount(errors.argmin(axis=1), minlength=len(times)) / draws
    found = selection.probabilities_of_best(times, deviation, freedom)
    assert pytest.approx(1.0, abs=1e-12) == found.sum()
    # four standard deviations of a share of so many draws
    assert np.all(abs(expected - found) < 4 * np.sqrt(0.25 / draws))
    assert sorted(found, reverse=True) == list(found)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_equal_variants_share_alike_however_many(freedom):
    for count in (1, 3, 500):
        found = selection.probabilities_of_best(np.full(count, 7e-5), 0.3, freedom)
        np.testing.assert_allclose(np.full(count, 1 / count), found)


@pytest.mark.parametrize("freedom", [2, 4, 8])
def test_student_s_distribution(freedom):
    x = np.linspace(-30, 30, 121)
    density, survival = selection.distribution(freedom)
    np.testing.assert_allclose(stats.t.pdf(x, freedom), density(x), rtol=1e-12)
    np.testing.assert_allclose(stats.t.sf(x, freedom), survival(x), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_differences(freedom):
    if freedom is None:
        assert pytest.approx(math.sqrt(2) * stats.norm.ppf(0.75), abs=1e-9) == selection.difference_quantile(None, 0.75)
    errors = drawn(freedom, (2, 200_000))
    for share in (0.1, 0.5, 0.75, 0.9):
        found = selection.difference_quantile(freedom, share)
        assert pytest.approx(share, abs=6e-3) == np.mean(errors[0] - errors[1] <= found)


def test_the_smallest_set():
    chances = [0.5, 0.25, 0.125, 0.125]
    assert [1, 1, 2, 3, 4] == [selection.smallest_set(chances, level) for level in (0.3, 0.5, 0.75, 0.8, 0.99)]
    assert 4 == selection.smallest_set([0.25] * 4, 1 - 1e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_set_holds_the_best_as_often_as_it_says(freedom):
    """Kernels with 6 variants: true times are the predictions times drawn errors, and a common factor."""
    generator, inside = np.random.default_rng(11), []
    for errors in 0.25 * drawn(freedom, (800, 6), seed=12):
        predicted = np.sort(np.exp(0.4 * generator.standard_normal(6)))
        chances = selection.probabilities_of_best(predicted, 0.25, freedom)
        fastest = np.argmin(np.log(predicted) + errors + generator.standard_normal())
        inside.append(fastest < selection.smallest_set(chances, 0.9))
    assert 0.88 <= np.mean(inside) <= 0.97


def cell(kernel, errors, predicted=None, group=""):
    errors = np.array(errors, dtype=float)
    logs = errors + (np.zeros(len(errors)) if predicted is None else np.log(predicted))
    return selection.VariantErrors(kernel, group or kernel, logs, errors)


def drawn_cells(freedom, deviation, kernels=40, variants=6, seed=5):
    """Cells of kernels, each with an offset of its own that is far larger than the scatter."""
    generator, found = np.random.default_rng(seed), []
    for kernel in range(kernels):
        shape = (2, variants)
        errors = generator.standard_normal(shape) if freedom is None else generator.standard_t(freedom, shape)
        offset = 3 * generator.standard_normal()
        for own in errors:
            predicted = np.exp(0.3 * generator.standard_normal(variants))
            found.append(cell(f"k{kernel}", offset + deviation * own, predicted, f"g{kernel % 8}"))
    return found


def test_the_scale_by_hand_and_kernels_weigh_the_same():
    # the only difference is 0.4, and half of all |e_1 - e_2| of normal errors are below 0.6745 sqrt 2
    assert pytest.approx(0.4 / (0.6744897501960817 * math.sqrt(2))) == selection.scale([cell("a", [5.0, 5.4])], None)
    # one kernel has three variants 1 apart, and 100 pairs of the other are 0.1 apart: half of the weight is at 0.1
    cells = [cell("a", [0.0, 1.0, 2.0]), *[cell("b", [0.0, 0.1])] * 100]
    assert pytest.approx(0.1 / (0.6744897501960817 * math.sqrt(2))) == selection.scale(cells, None)


@pytest.mark.parametrize("deviation", [0.03, 0.3])
def test_a_planted_scatter_is_found_whatever_the_offsets_of_kernels(deviation):
    found = selection.estimate_scatter(drawn_cells(None, deviation))
    assert 80 == found.cells
    assert pytest.approx(deviation, rel=0.12) == selection.scale(drawn_cells(None, deviation), None)
    assert found.freedom in (None, 8)


def test_heavy_tails_are_noticed():
    found = selection.estimate_scatter(drawn_cells(2, 0.1, kernels=120))
    assert found.freedom in (2, 4)
    assert pytest.approx(0.1, rel=0.2) == selection.scale(drawn_cells(2, 0.1, kernels=120), 2)


@pytest.mark.parametrize("freedom", [None, 2])
def test_sets_by_an_estimated_scatter_hold_the_best(freedom):
    known, inside = selection.estimate_scatter(drawn_cells(freedom, 0.2)), []
    for one in drawn_cells(freedom, 0.2, kernels=400, seed=6):
        predicted = np.exp(one.logs - one.errors)
        order = np.argsort(predicted)
        chances = selection.probabilities_of_best(predicted, known.deviation, known.freedom)[order]
        inside.append(np.argmin(one.logs) in order[: selection.smallest_set(chances, 0.9)])
    assert 0.85 <= np.mean(inside) <= 0.97


def test_cells_are_of_one_kernel_at_the_same_sizes():
    rows = [
        Row("a", {"n": 1, "m": 2}, 2.0, "", {"v": 1}, "g"), Row("a", {"m": 2, "n": 1}, 8.0, "", {"v": 2}, "g"),
        Row("a", {"n": 2, "m": 2}, 9.0, "", {"v": 1}, "g"), Row("b", {"n": 1, "m": 2}, 9.0, ""),
        Row("a", {"n": 1, "m": 2}, 9.0, "", {"v": 3}, "g"), Row("a", {"n": 1, "m": 2}, 9.0, "", {"v": 4}, "g"),
    ]  # fmt: skip
    predicted = np.array([1.0, 2.0, 9.0, 9.0, math.nan, -1.0])  # the last two are no predictions
    (found,) = selection.cells_of(rows, np.array([row.seconds for row in rows]), predicted)
    assert ("a", "g") == (found.kernel, found.group)
    np.testing.assert_allclose(np.log([2.0, 8.0]), found.logs)
    np.testing.assert_allclose(np.log([2.0, 4.0]), found.errors)


def test_too_little_to_tell():
    assert selection.estimate_scatter([]) is None
    one = selection.estimate_scatter([cell("a", [0.0, 0.1]), cell("a", [0.0, 0.1])])
    assert (None, 2) == (one.freedom, one.cells)


@pytest.mark.parametrize("deviation", [1e308, 601.0])
def test_a_scatter_that_no_time_can_have_is_refused(deviation):
    assert 600.0 == selection.Scatter(deviation=600.0, cells=1).deviation
    with pytest.raises(ValidationError, match="less than or equal to 600"):
        selection.Scatter(deviation=deviation, cells=1)
    assert 600.0 == selection.estimate_scatter([cell("a", [-745.0, 700.0])]).deviation

"""The scatter of errors between variants: recovered from drawn errors, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from perfmodel.fitting.selection import (
    Scatter,
    VariantErrors,
    cells_of,
    estimate_scatter,
    probabilities_of_best,
    scale,
    smallest_set,
)  # fmt: skip
from tests.standins import Row


def cell(kernel, errors, predicted=None, group=""):
    errors = np.array(errors, dtype=float)
    logs = errors + (np.zeros(len(errors)) if predicted is None else np.log(predicted))
    return VariantErrors(kernel, group or kernel, logs, errors)


def drawn(freedom, deviation, kernels=40, variants=6, seed=5):
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


def test_the_scale_by_hand():
    # the only difference is 0.4, and half of all |e_1 - e_2| of normal errors are below 0.6745 sqrt 2
    assert pytest.approx(0.4 / (0.6744897501960817 * math.sqrt(2))) == scale([cell("a", [5.0, 5.4])], None)


def test_kernels_weigh_the_same():
    """One kernel has three variants 1 apart, and 100 pairs of the other are 0.1 apart: half of the weight is at 0.1."""
    cells = [cell("a", [0.0, 1.0, 2.0]), *[cell("b", [0.0, 0.1])] * 100]
    assert pytest.approx(0.1 / (0.6744897501960817 * math.sqrt(2))) == scale(cells, None)


@pytest.mark.parametrize("deviation", [0.03, 0.3])
def test_a_planted_scatter_is_found_whatever_the_offsets_of_kernels(deviation):
    found = estimate_scatter(drawn(None, deviation))
    assert 80 == found.cells
    assert pytest.approx(deviation, rel=0.12) == scale(drawn(None, deviation), None)
    assert found.freedom in (None, 8)


def test_heavy_tails_are_noticed():
    found = estimate_scatter(drawn(2, 0.1, kernels=120))
    assert found.freedom in (2, 4)
    assert pytest.approx(0.1, rel=0.2) == scale(drawn(2, 0.1, kernels=120), 2)


@pytest.mark.parametrize("freedom", [None, 2])
def test_sets_by_an_estimated_scatter_hold_the_best(freedom):
    known, inside = estimate_scatter(drawn(freedom, 0.2)), []
    for one in drawn(freedom, 0.2, kernels=400, seed=6):
        predicted = np.exp(one.logs - one.errors)
        order = np.argsort(predicted)
        chances = probabilities_of_best(predicted, known.deviation, known.freedom)[order]
        inside.append(np.argmin(one.logs) in order[: smallest_set(chances, 0.9)])
    assert 0.85 <= np.mean(inside) <= 0.97


def test_cells_are_of_one_kernel_at_the_same_sizes():
    rows = [
        Row("a", {"n": 1, "m": 2}, 2.0, "", {"v": 1}, "g"), Row("a", {"m": 2, "n": 1}, 8.0, "", {"v": 2}, "g"),
        Row("a", {"n": 2, "m": 2}, 9.0, "", {"v": 1}, "g"), Row("b", {"n": 1, "m": 2}, 9.0, ""),
        Row("a", {"n": 1, "m": 2}, 9.0, "", {"v": 3}, "g"), Row("a", {"n": 1, "m": 2}, 9.0, "", {"v": 4}, "g"),
    ]  # fmt: skip
    predicted = np.array([1.0, 2.0, 9.0, 9.0, math.nan, -1.0])  # the last two are no predictions
    (found,) = cells_of(rows, np.array([row.seconds for row in rows]), predicted)
    assert ("a", "g") == (found.kernel, found.group)
    np.testing.assert_allclose(np.log([2.0, 8.0]), found.logs)
    np.testing.assert_allclose(np.log([2.0, 4.0]), found.errors)


def test_too_little_to_tell():
    assert estimate_scatter([]) is None
    one = estimate_scatter([cell("a", [0.0, 0.1]), cell("a", [0.0, 0.1])])
    assert (None, 2) == (one.freedom, one.cells)


@pytest.mark.parametrize("deviation", [1e308, 601.0])
def test_a_scatter_that_no_time_can_have_is_refused(deviation):
    assert 600.0 == Scatter(deviation=600.0, cells=1).deviation
    with pytest.raises(ValidationError, match="less than or equal to 600"):
        Scatter(deviation=deviation, cells=1)
    assert 600.0 == estimate_scatter([cell("a", [-745.0, 700.0])]).deviation

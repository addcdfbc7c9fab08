"""Outputs of variants beside each other: what counts as the same, and how a difference is told."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.tuning.outputs import differences, output_names, tolerance_of
from tests.campaigns import build


def off(found, expected, tolerance=None) -> bool:
    return bool(differences({"c": np.asarray(found)}, {"c": np.asarray(expected)}, tolerance))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float16", 1e-2), ("float32", 1e-4), ("complex64", 1e-4), ("float64", 1e-8), ("complex128", 1e-8),
        ("int32", 0.0),
    ],
)  # fmt: skip
def test_the_tolerance_is_that_of_the_real_numbers(dtype, expected):
    assert expected == tolerance_of(np.dtype(dtype))


def test_a_share_of_the_element_or_of_the_mean():
    ones = np.ones(4, np.float32)
    assert not off(ones * np.float32(1 + 9e-5), ones)
    assert off(ones * np.float32(1 + 2e-4), ones)
    # the mean magnitude is 1: an element of nearly nothing may be off by 1e-4, and not by more
    assert not off(np.array([2, 9e-5], np.float32), np.array([2, 0], np.float32))
    assert off(np.array([2, 2e-4], np.float32), np.array([2, 0], np.float32))
    assert not off(np.array([1 + 1e-9]), np.array([1.0]))
    assert off(np.array([1 + 1e-7]), np.array([1.0]))
    assert not off(np.array([1 + 1e-7]), np.array([1.0]), 1e-6)


def test_whole_numbers_and_truth_values_are_equal_or_not():
    assert not off([1, 2], [1, 2])
    assert off([1, 3], [1, 2], 1.0)
    assert off([True], [False])
    assert off([2**62], [2**62 + 1])  # a float64 could not tell them apart


def test_what_is_not_finite_must_be_the_same():
    nan, inf = float("nan"), float("inf")
    assert not off([nan, inf, -inf, 1.0], [nan, inf, -inf, 1.0])
    assert off([nan, 1.0], [1.0, 1.0])
    assert off([inf, 1.0], [-inf, 1.0])
    (phrase,) = differences({"c": np.array([nan, 1.0])}, {"c": np.array([2.0, 1.0])})
    assert "'c' by up to inf (inf %), in 1 of 2 elements, first c[0] = nan instead of 2.0" == phrase


def test_the_phrase_names_the_argument_and_the_first_place():
    found, expected = np.ones((2, 3)), np.ones((2, 3))
    found[0, 2], found[1, 1] = 1.25, 3.0
    (phrase,) = differences({"c": found, "d": expected}, {"c": expected, "d": expected})
    assert "'c' by up to 2 (200 %), in 2 of 6 elements, first c[0, 2] = 1.25 instead of 1.0" == phrase


def test_other_shapes_types_and_structures():
    (phrase,) = differences({"c": np.ones(3)}, {"c": np.ones((3, 1), np.float32)})
    assert "'c' is float64 of shape (3,) instead of float32 of shape (3, 1)" == phrase
    pairs = np.zeros(2, [("a", "f4"), ("b", "i4")])
    assert not off(pairs, pairs)
    assert off(np.ones(2, pairs.dtype), pairs)
    assert not off(np.empty(0), np.empty(0))
    assert off(np.float64(2.0), np.float64(1.0))


def test_outputs_are_the_arrays_that_are_written():
    assert ("out",) == output_names(build().default_entrypoint)

"""Outputs of variants beside each other: what counts as the same, and how a difference is told."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.tuning.agreement import differences, output_names, tolerance_of
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


def test_a_share_of_the_element_or_of_the_lower_quartile():
    ones = np.ones(4, np.float32)
    assert not off(ones * np.float32(1 + 9e-5), ones)
    assert off(ones * np.float32(1 + 2e-4), ones)
    # elements that are not zero are 2: one of nearly nothing may be off by 2e-4, and not by more
    assert not off(np.array([2, 1.9e-4], np.float32), np.array([2, 0], np.float32))
    assert off(np.array([2, 2.1e-4], np.float32), np.array([2, 0], np.float32))
    assert not off(np.array([1 + 1e-9]), np.array([1.0]))
    assert off(np.array([1 + 1e-7]), np.array([1.0]))
    assert not off(np.array([1 + 1e-7]), np.array([1.0]), 1e-6)


@pytest.mark.parametrize("huge", [1, 40_000])
def test_large_elements_hide_no_others(huge):
    expected = np.random.default_rng(1).uniform(0.5, 2.0, 65_536).astype(np.float32)
    expected[:huge] = 1e20
    found = expected.copy()
    found[huge:] *= np.float32(1.01)
    (phrase,) = differences({"c": found}, {"c": expected})
    assert f"in {65_536 - huge} of 65536 elements, first c[{huge}] = " in phrase
    assert not off(expected * np.float32(1 + 1e-5), expected)


def test_one_element_among_many_is_seen():
    expected = np.random.default_rng(1).normal(size=2**20).astype(np.float32)
    found = expected.copy()
    found[-1] += np.float32(0.01)
    assert "in 1 of 1048576 elements, first c[1048575]" in differences({"c": found}, {"c": expected})[0]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("count", "sums"), [(64, 32), (4096, 32), (2**20, 8)])
def test_sums_in_another_order_are_the_same(signed, count, sums):
    """Also where terms cancel, so that some sums are small beside their rounding errors; sorted is the worst order."""
    terms = np.random.default_rng(count).uniform(-1.0 if signed else 0.5, 1.0, (count, sums)).astype(np.float32)
    orders = (terms, terms[::-1], np.sort(terms, axis=0))
    forward, backward, ordered = (np.add.accumulate(one, axis=0)[-1] for one in orders)
    pairwise = terms.sum(axis=0)
    assert 0 < np.abs(forward - backward).max()
    for one in (backward, pairwise, *[ordered] * (not signed)):
        assert () == differences({"c": one}, {"c": forward}, terms=count)
    assert off(forward * np.float32(1.01), forward)


def test_long_sums_may_differ_more():
    single, whole = np.dtype("float32"), np.dtype("int64")
    assert 1e-4 == tolerance_of(single, 1e4)
    assert tolerance_of(single, 1e8) == pytest.approx(2 * 2**-23 * 1e4)
    assert 0.0 == tolerance_of(whole, 1e8)


def test_fields_of_a_structure_have_a_tolerance():
    pairs = np.dtype([("x", "f4"), ("n", "i4")], align=True)
    expected = np.ones(3, pairs)
    near, wrong = expected.copy(), expected.copy()
    near["x"] *= np.float32(1 + 1e-6)
    wrong["n"][2] = 5
    assert not off(near, expected)
    assert "'c.n' by up to 4 (400 %), in 1 of 3 elements, first c.n[2] = 5 instead of 1" == (
        differences({"c": wrong}, {"c": expected})[0]
    )


def test_complex_numbers_are_compared_by_their_distance():
    expected = np.full(5, 3 + 4j, np.complex64)
    found = expected.copy()
    found[3] = 4 + 3j
    assert not off(expected * np.complex64(1 + 1e-6), expected)
    assert "first c[3] = (4+3j) instead of (3+4j)" in differences({"c": found}, {"c": expected})[0]


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

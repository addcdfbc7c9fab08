from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from perfmodel.features import CLASS_NAMES, class_code, class_codes, stride_class


@pytest.mark.parametrize(
    ("expected", "stride", "footprint", "filled"),
    [
        ("uniform", 0, 1, 100),  # utilisation is disregarded for strides 0 and 1
        ("stride1", 1, 1, 100),
        ("stride2_1of2", 2, 1, 2),  # exactly half is still the lower class
        ("stride2_2of2", 2, 51, 100),
        ("stride2_2of2", 2, 2000, 2001),  # a[2i] with a[2i+1]
        ("stride3_1of3", 3, 1, 3),
        ("stride3_2of3", 3, 2, 3),
        ("stride3_3of3", 3, 2 * 10**9 + 1, 3 * 10**9),
        ("stride4_1of4", 4, 1, 4),
        ("stride4_4of4", 4, 4, 4),
        ("strideN_1of4", 5, 1, 5),
        ("strideN_2of4", 1024, 1, 3),
        ("strideN_4of4", 1024, 1, 1),
    ],
)
def test_classes_of_section_2_1(expected, stride, footprint, filled):
    assert expected == stride_class(stride, footprint, filled)
    assert expected == CLASS_NAMES[int(class_codes(stride, footprint, filled))]


def test_no_cell_touched_is_the_lowest_class():
    assert "stride2_1of2" == stride_class(2, 0, 0)
    assert 21 == int(class_codes(2, 0, 0))


def test_a_fraction_is_classed_by_the_stride_above_it():
    assert "stride1" == stride_class(Fraction(1, 2), 1, 1)
    assert "stride3_3of3" == stride_class(Fraction(5, 2), 1, 1)


def test_one_at_a_time_and_all_at_once_agree():
    rng = np.random.default_rng(20)
    strides = rng.integers(0, 9, 500)
    filled = rng.integers(1, 60, 500)
    footprints = rng.integers(0, filled + 1)
    expected = [
        class_code(s, f, g)
        for s, f, g in zip(strides.tolist(), footprints.tolist(), filled.tolist(), strict=True)
    ]
    assert expected == class_codes(strides, footprints, filled).tolist()

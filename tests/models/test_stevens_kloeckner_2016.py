"""The linear model of Stevens and Klöckner: which features of section 2 it charges."""

from __future__ import annotations

import pytest

from perfmodel.features import FEATURE_NAMES
from perfmodel.models import find_family

FAMILY = find_family("stevens_kloeckner_2016")


@pytest.mark.parametrize(
    "feature",
    [
        "global_load_32_stride1", "global_store_64_stride2_1of2", "global_minloadstore_32_strideN_4of4",
        "global_load_32_indirect", "local_load_128", "op_float32_add", "op_float64_special", "op_float32_minmax",
        "barrier_local", "work_groups", "launches",
    ],
)  # fmt: skip
def test_properties_of_section_2(feature):
    assert FAMILY.takes(feature)


@pytest.mark.parametrize("feature", ["local_store_32", "op_int32_add", "op_int64_special", "op_float32_bitwise"])
def test_local_stores_and_integer_arithmetic_are_no_properties(feature):
    assert not FAMILY.takes(feature)


def test_the_model_with_overlap_charges_the_same_features():
    overlap = find_family("overlap")
    assert [FAMILY.takes(name) for name in FEATURE_NAMES] == [overlap.takes(name) for name in FEATURE_NAMES]


def test_it_is_a_sum():
    assert FAMILY.additive

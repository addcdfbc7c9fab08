from __future__ import annotations

import pytest

from perfmodel import features
from perfmodel.errors import UnknownNameError


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ("operation", "op_float32_add"),
        ("operation", "op_float64_special"),
        ("operation", "op_int32_bitwise"),
        ("access", "global_load_128_uniform"),
        ("access", "global_store_8_strideN_4of4"),
        ("access", "global_minloadstore_32_stride1"),
        ("access", "global_load_64_indirect"),
        ("access", "local_store_16"),
        ("barrier", "barrier_local"),
        ("work-group", "work_groups"),
        ("launch", "launches"),
    ],
)
def test_units(expected, name):
    assert expected == features.unit(name)
    assert name == features.feature(name).name


@pytest.mark.parametrize(
    "name",
    ["op_float32_rsqrt", "global_load_24_stride1", "global_load_32_stride2_3of2", "Launches", ""],
)
def test_a_name_outside_the_grammar_is_refused(name):
    with pytest.raises(UnknownNameError) as caught:
        features.unit(name)
    assert f"'{name}'" in str(caught.value)
    assert "op_float32_add" in str(caught.value)

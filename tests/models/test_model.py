"""The value of a family, and families from an expression."""

from __future__ import annotations

import pytest

from perfmodel.errors import FamilyError
from perfmodel.expressions.expression import parse, weight_units
from perfmodel.models import Family, find_family
from perfmodel.models.model import Weight

CANDIDATES = (
    "op_float32_add", "op_float64_special", "op_int32_add", "global_load_32_stride1", "global_store_64_strideN_3of4",
    "global_minloadstore_32_stride1", "local_load_32", "local_store_32", "barrier_local", "work_groups", "launches",
)  # fmt: skip


TEXT = "w_launch*launches + smooth_max(w_add*op_float32_add, w_load*global_load_32_stride1, w_sharpness)"


def test_weights_have_the_units_that_follow():
    family = Family.from_expression(TEXT)
    expected = {"w_launch": "s/launch", "w_add": "s/operation", "w_load": "s/access", "w_sharpness": ""}
    assert expected == {weight.name: weight.unit for weight in family.weights}
    assert family == find_family(f"expr: {TEXT}") == find_family(f"expr:{TEXT}")
    assert not family.takes("launches")
    sharpness = family.weights[-1]
    assert (4.0, 1.0, 64.0) == (sharpness.start, sharpness.lower, sharpness.upper)
    (_, exponent) = Family.from_expression("w_a*launches**w_b").weights
    assert (1.0, 0.0) == (exponent.start, exponent.lower)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w_a", "s"), ("2*w_a*launches/3", "s/launch"), ("launches/w_a", "launch/s"),
        ("w_a*launches*op_float32_add", "s/launch/operation"), ("w_a*launches/op_float32_add", "s*operation/launch"),
        ("w_a/launches", "s*launch"), ("launches/(w_a*op_float32_add)", "launch/operation/s"), ("1/w_a", "1/s"),
        ("abs(w_a*launches)", "s/launch"), ("where(launches > 1, w_a*launches, 0)", "s/launch"), ("launches**w_a", ""),
        ("max(w_a*(launches - 1), 0)", "?"),
    ],
)
def test_units_by_hand(text, expected):
    assert {"w_a": expected} == weight_units(parse(text))


def test_bounds_of_weights_are_seen():
    """1 - 1/w cannot be negative where w is at least 1."""
    text = "launches*(1 - 1/w_share)"
    with pytest.raises(FamilyError, match="can be negative"):
        Family.from_expression(text)
    assert Family.from_expression(text, weights=[Weight("w_share", "", lower=1.0, start=2.0)]).weights
    with pytest.raises(FamilyError, match="can be negative"):
        Family.from_expression("w_a*launches", weights=[Weight("w_a", "s/launch", lower=-1.0)])


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("w_a*launches + w_b*op_float32_ad", "op_float32_ad", "did you mean op_float32_add"),
        ("w_a*global_load_32_stride_1", "global_load_32_stride_1", "did you mean global_load_32_stride1"),
        ("w_a*launches + compute_units", "compute_units", "neither a feature nor a weight"),
        ("w_a*floor(w_b*launches)", "floor(w_b*launches)", "not differentiable"),
        ("w_a*launches - w_b*work_groups", "w_a*launches - w_b*work_groups", "can be negative"),
        ("2*launches", "2*launches", "it has no weight"),
    ],
)
def test_errors_point_into_the_expression(text, at, said):
    with pytest.raises(FamilyError) as caught:
        Family.from_expression(text)
    error = caught.value
    assert said in str(error)
    assert at == text[error.start : error.end]
    lines = str(error).splitlines()
    assert lines[2].index("^") - 4 == text.index(at)
    assert "^" * len(at) in lines[2]


def test_negative_steps_are_seen_through_parts():
    with pytest.raises(FamilyError, match="can be negative") as caught:
        parse("w_a + left", parts={"left": "launches - work_groups"})
    assert "left" == caught.value.text[caught.value.start : caught.value.end]
    assert parse("w_a + max(left, 0)", parts={"left": "launches - work_groups"})

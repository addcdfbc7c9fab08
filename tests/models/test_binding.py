"""Families' expressions with their sums written out."""

from __future__ import annotations

from perfmodel.models import Family, find_family
from perfmodel.models.binding import bind, weight_name
from perfmodel.models.model import Weight

TOY = Family(
    name="toy",
    citation="nowhere",
    sums={"chip": ("op_*",), "memory": ("global_*",)},
    weights=(Weight("w_share", "", start=0.5),),
    parts={"half": "chip*w_share"},
    expression="half + memory",
)


def test_sums_run_over_the_features_that_are_given():
    found = bind(TOY, ["op_float32_add", "global_load_32_stride1", "op_float32_mul", "launches"])
    expected = ("w_op_float32_add", "w_op_float32_mul", "w_share", "w_global_load_32_stride1")
    assert expected == found.weights
    values = {"op_float32_add": 2.0, "op_float32_mul": 3.0, "global_load_32_stride1": 4.0}
    assert (2 * 10 + 3 * 20) * 0.5 + 4 * 30 == found.value(values, [10.0, 20.0, 0.5, 30.0])


def test_known_weights_are_numbers():
    found = bind(TOY, ["op_float32_add"], {"w_share": 0.25})
    assert ("w_op_float32_add",) == found.weights
    assert 2 * 10 * 0.25 == found.value({"op_float32_add": 2.0}, [10.0])


def test_a_family_without_an_expression_is_the_sum():
    family = find_family("stevens_kloeckner_2016")
    found = bind(family, ["launches", "local_store_32", "work_groups"])
    assert found.linear
    assert ("w_launches", "w_work_groups") == found.weights


def test_weights_of_sums_bear_the_names_of_features():
    assert ("launches", "w_share") == (weight_name(TOY, "w_launches"), weight_name(TOY, "w_share"))

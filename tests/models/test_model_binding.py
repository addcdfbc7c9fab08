"""Families' expressions with their sums written out."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, Weight, bind

TOY = Family(
    name="toy", citation="nowhere", sums={"chip": ("op_*",), "memory": ("global_*",)},
    weights=(Weight("w_share", "", start=0.5),), parts={"half": "chip*w_share"}, expression="half + memory",
)  # fmt: skip


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


ADDED = {"op_float32_add": 2e6, "op_float32_mul": 0.0, "global_load_32_stride1": 1e6, "launches": 1.0}


def test_in_a_plain_sum_each_term_rests_on_its_weight():
    found = RunTime(find_family("stevens_kloeckner_2016"), {"op_float32_add": 3e-12, "launches": -1e-6})
    assert {"op_float32_add": 6e-6, "launches": -1e-6} == pytest.approx(found.by_weight(ADDED))


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_what_rests_on_each_weight_is_the_change_of_the_time_with_it(sharpness):
    family = find_family("overlap")
    weights = {"w_sharpness": sharpness, "op_float32_add": 3e-12, "global_load_32_stride1": 5e-12, "launches": 1e-6}
    found = RunTime(family, weights).by_weight(ADDED)
    assert weights.keys() == found.keys()
    for name, value in weights.items():
        above, below = (
            RunTime(family, {**weights, name: value * (1 + step)}).evaluate(ADDED)[0] for step in (1e-6, -1e-6)
        )
        assert pytest.approx((above - below) / 2e-6, rel=1e-5) == found[name]
    many = RunTime(family, weights).by_weight({**ADDED, "op_float32_add": np.array([2e6, 4e6])})
    again = RunTime(family, weights).by_weight({**ADDED, "op_float32_add": 4e6})
    assert [found["w_sharpness"], again["w_sharpness"]] == pytest.approx(many["w_sharpness"].tolist())
    assert pytest.approx(again["op_float32_add"]) == many["op_float32_add"][1]

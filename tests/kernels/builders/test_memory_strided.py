"""Strided accesses: their number, their class and the order of the variants."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel import features
from perfmodel.counts import count
from perfmodel.features import stride_class
from perfmodel.kernels.builders.memory import strided, strides_in_turn


@pytest.mark.parametrize(
    ("stride", "offsets", "expected"),
    [(2, 1, "stride2_1of2"), (4, 3, "stride4_3of4"), (8, 2, "strideN_1of4"), (8, 3, "strideN_2of4")],
)
def test_the_class_is_that_of_the_counted_kernel(stride, offsets, expected):
    assert expected == stride_class(stride, offsets, stride)
    arrays = [
        lp.GlobalArg("a", np.float32, shape=f"{stride}, n, k", order="F"),
        lp.GlobalArg("out", np.float32, shape="n"),
    ]
    counts = count(strided("out[i] = sum((r, o), a[o, i, r])", arrays, offsets, "load", (256,)))
    found = features.evaluate(counts, {"n": 1024, "k": 4})
    assert 1024 * 4 * offsets == found[f"global_load_32_{expected}"]


def test_every_stride_comes_once_before_any_comes_twice():
    found = strides_in_turn({2: (1, 2), 3: (1, 3, 2), 8: (4,)})
    assert [(2, 1), (3, 1), (8, 4), (2, 2), (3, 3), (3, 2)] == [(v["stride"], v["offsets"]) for v in found]

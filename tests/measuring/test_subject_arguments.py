"""Arguments of kernels: shapes, strides, types, and what does not fit."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import KernelArgumentError
from perfmodel.measuring.subject import (
    ArrayArgument,
    array_arguments,
    fits,
    host_array,
    offset_arguments,
    scalar_arguments,
)

KERNEL = lp.make_kernel(
    "{[i, j]: 0 <= i < n and 0 <= j < 3}",
    "out[j, i] = s*a[i, j]",
    [
        lp.GlobalArg("out", np.float32, shape="3, n", order="F"),
        lp.GlobalArg("a", np.float64, shape="n, 3", order="C"),
        lp.ValueArg("s", np.float32),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
).default_entrypoint


def array(elements: int) -> ArrayArgument:
    return ArrayArgument("a", np.dtype(np.float32), (elements,), (1,))


def test_both_orders_have_their_strides():
    out, a = array_arguments(KERNEL, {"n": 5})
    assert ((3, 5), (1, 3), 60) == (out.shape, out.strides, out.octets)
    assert ((5, 3), (3, 1), 120) == (a.shape, a.strides, a.octets)


def test_a_view_shows_column_major_memory():
    out, _ = array_arguments(KERNEL, {"n": 5})
    flat = np.arange(15, dtype=np.float32)
    assert (flat.reshape(5, 3).T == out.view(flat)).all()


def test_scalars_get_the_type_of_their_argument():
    values = scalar_arguments(KERNEL, {"n": 5}, {"s": 0.1})
    assert {"s": np.float32(0.1), "n": 5} == values
    assert np.int32 is type(values["n"])


def test_offsets_that_loopy_adds_are_zero():
    kernel = lp.make_kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[i]",
        [lp.GlobalArg("out, a", np.float32, shape="n", offset=lp.auto), lp.ValueArg("n", np.int32)],
        lang_version=(2018, 2),
    )
    values = scalar_arguments(kernel.default_entrypoint, {"n": 5}, {})
    assert {"n": 5, "a_offset": 0, "out_offset": 0} == values
    ready = lp.preprocess_program(kernel).default_entrypoint
    assert {"a_offset", "out_offset"} == offset_arguments(ready)
    assert values == scalar_arguments(ready, {"n": 5}, {"a_offset": 0, "out_offset": 0})


@pytest.mark.parametrize(("sizes", "scalars"), [({}, {"s": 1.0}), ({"n": 1}, {}), ({"n": 1, "m": 2}, {"s": 1.0})])
def test_missing_and_superfluous_scalars_are_named(sizes, scalars):
    with pytest.raises(KernelArgumentError, match=r"\(n, s\)"):
        scalar_arguments(KERNEL, sizes, scalars)


def test_a_size_of_an_array_without_a_value_is_named():
    with pytest.raises(KernelArgumentError, match=r"\(n, s\), but values were given for \(s\)"):
        array_arguments(KERNEL, {"s": 1.0})


@pytest.mark.parametrize(
    ("elements", "expected"),
    [((100,), True), ((100, 100), False), ((126,), False), ((), True)],
)
def test_memory_bounds_hold_for_all_and_for_each(elements, expected):
    assert expected == fits(tuple(map(array, elements)), most_octets=600, largest_octets=500)


def test_a_class_may_draw_the_contents_of_an_array():
    indices = ArrayArgument("index", np.dtype(np.int32), (3, 5), (1, 3))
    flat = host_array(indices, 7, lambda generator, shape: generator.integers(10, 20, shape))
    assert (np.random.default_rng(7).integers(10, 20, (3, 5)) == indices.view(flat)).all()
    assert np.int32 == flat.dtype

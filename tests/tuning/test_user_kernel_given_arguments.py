"""Arguments that a user gives: names, types, shapes and values."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import KernelArgumentError
from perfmodel.tuning.user_kernel import check_given

KERNEL = lp.make_kernel(
    "{[i]: 0 <= i < n}",
    "out[i] = p*a[i] + k",
    [
        lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("p", np.float32), lp.ValueArg("k", np.int8),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2), name="scaled",
).default_entrypoint  # fmt: skip
A = np.ones(8, np.float32)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"a": A}, {"a": A, "out": A[::-1]}, {"p": 2.5}, {"p": 2}, {"p": np.float32(2)}, {"k": -3}, {"k": True},
        {"k": np.int8(3)}, {"n": 8, "a": A}, {"n": np.int64(8)},
    ],
)  # fmt: skip
def test_what_fits(given):
    check_given(KERNEL, given, {"n": 8})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"b": A}, "'b' for the kernel 'scaled', and it is not one of its arguments; give one of out, a, p, k, n"),
        ({"a": A.astype(np.float64)}, "is an array of float64 and shape (8,); give a numpy array of float32 and shape"),
        ({"a": A[:4]}, "is an array of float32 and shape (4,); give a numpy array of float32 and shape (8,)"),
        ({"a": [1.0] * 8}, "is of type list; give a numpy array of float32 and shape (8,)"),
        ({"p": "2"}, "is of type str; give a number of float32"),
        ({"p": A}, "is of type ndarray; give a number of float32"),
        ({"p": 2j}, "is 2j; give a number of float32"),
        ({"p": np.float64(2)}, "is a number of float64; give a number of float32"),
        ({"k": 2.0}, "is 2.0; give a number of int8"),
        ({"k": 128}, "is 128; give a number of int8"),
        ({"n": 9}, "is 9; give the size 8"),
    ],
)
def test_what_does_not(given, said):
    with pytest.raises(KernelArgumentError) as caught:
        check_given(KERNEL, given, {"n": 8})
    assert said in str(caught.value)

"""Loops without an end."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.schedule import refuse_unbounded
from perfmodel.errors import NotCountableError, UnboundedLoopError


@pytest.mark.parametrize(
    ("domain", "inames"),
    [
        ("[n] -> { [i] : 0 <= i }", ("i",)),
        ("[n] -> { [i] : i < n }", ("i",)),
        ("[n] -> { [i, j] : 0 <= i < n and j <= i }", ("j",)),
        ("[n] -> { [i, j, k] : 0 <= i < n and j = k }", ("j", "k")),
        ("{ [i] }", ("i",)),
    ],
)
def test_loops_without_an_end(domain, inames):
    with pytest.raises(UnboundedLoopError, match="a lower and an upper bound") as caught:
        refuse_unbounded([isl.BasicSet("[n] -> { [h] : 0 <= h < n }"), isl.BasicSet(domain)])
    assert inames == caught.value.inames
    assert isl.BasicSet(domain) == isl.BasicSet(caught.value.domain)
    assert isinstance(caught.value, NotCountableError)


@pytest.mark.parametrize(
    "domain",
    [
        "{ [] }",
        "[n] -> { [i] : 0 <= i < n and n < 0 }",
        "[n, outer] -> { [i] : 16*outer <= i < n }",
        "[n] -> { [i, j] : 0 <= i + j < n and 0 <= i - j < n }",
        "[n] -> { [i] : exists e : i = 3*e and 0 <= e < n }",
    ],
)
def test_loops_that_end(domain):
    refuse_unbounded([isl.BasicSet(domain)])


def test_a_kernel_with_a_loop_without_an_end_is_not_counted():
    kernel = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j }", "b[i] = sum(j, 2)",
        [lp.GlobalArg("b", np.float32, shape=("n",)), lp.ValueArg("n", np.int32)],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    with pytest.raises(UnboundedLoopError, match="give j a lower and an upper bound"):
        count(kernel, cache=False)

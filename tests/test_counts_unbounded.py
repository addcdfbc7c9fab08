"""Loops without an end."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.unbounded import refuse_unbounded
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

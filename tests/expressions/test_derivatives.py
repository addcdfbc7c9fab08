"""Derivatives as expressions, by hand."""

from __future__ import annotations

import pytest
from pymbolic import parse

from perfmodel.expressions.derivatives import Derivative, product, total
from perfmodel.expressions.functions import call


@pytest.mark.parametrize(
    ("text", "derivative"),
    [
        ("5", "0"), ("x", "1"), ("y", "0"), ("x + x*y", "1 + y"), ("3*x*x", "3*(x + x)"), ("y/x", "((-1)*y) / x**2"),
        ("x/y", "1 / y"), ("x**3", "3*x**2"), ("y**x", "y**x*log(y)"),
    ],
)  # fmt: skip
def test_derivatives_without_zeros_and_ones(text, derivative):
    assert derivative == str(Derivative("x")(parse(text)))


def test_a_function_that_jumps_has_no_slope():
    assert 0 == Derivative("x")(call("floor", parse("y")))


def test_sums_and_products_leave_zeros_and_ones_out():
    x = parse("x")
    assert (0, x, x) == (total(0, 0), total(0, x), product(1, x))
    assert (0, 1) == (product(x, 0), product(1, 1))

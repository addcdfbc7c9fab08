"""Generated code: one assignment for each distinct subexpression, and its values."""

from __future__ import annotations

import numpy as np
import pytest
from pymbolic import parse

from perfmodel.expressions.functions import ARRAY_NAMES, SCALAR_NAMES
from perfmodel.expressions.trees import Writer, function_of


def written(text):
    writer = Writer({"x": "x0", "w": "w0"})
    return writer.write(parse(text)), writer.lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x/2", ["t0 = x0/2"]),  # a number other than 0 divides directly
        ("x/w", ["t0 = divided(x0, w0)"]),
        ("x**2", ["t0 = x0*x0"]),
        ("x**3", ["t0 = power(x0, 3.0)"]),  # as a float: NumPy raises an error for an integer to a negative power
        ("x + x*w + x*w", ["t0 = x0*w0", "t1 = x0+t0", "t2 = t1+t0"]),
        ("x < w", ["t0 = x0 < w0"]),
    ],
)
def test_assignments(text, lines):
    assert (f"t{len(lines) - 1}", lines) == written(text)


def test_names_and_numbers_need_no_assignment():
    assert [("x0", []), ("5", []), ("(-5)", [])] == [written("x"), written("5"), written("-5")]


def test_several_trees_at_floats_and_at_arrays():
    trees = [parse("x*w"), parse("x/w")]
    assert (6.0, 1.5) == function_of(trees, ["x"], ["w"], SCALAR_NAMES)([3.0], [2.0])
    products, quotients = function_of(trees, ["x"], ["w"], ARRAY_NAMES)([np.array([3.0, 4.0])], [2.0])
    assert ([6, 8], [1.5, 2]) == (products.tolist(), quotients.tolist())

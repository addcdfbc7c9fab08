"""The parts, the variables and the derivatives of a tree, and the code that computes it."""

import pytest
from pymbolic import parse
from pymbolic.primitives import Variable

from perfmodel.expressions.functions import call
from perfmodel.expressions.trees import Derivative, Writer, extent

X = Variable("x")


def test_a_shared_tree_counts_twice_and_is_walked_once():
    tree = X
    for _ in range(300):
        tree = call("max", tree, tree)
    assert (301, 2**301 - 1) == extent(tree)
    assert (1, 1) == extent(X) == extent(5)


@pytest.mark.parametrize(("text", "derivative"), [
    ("5", "0"), ("x", "1"), ("y", "0"), ("x + x*y", "1 + y"), ("3*x*x", "3*(x + x)"), ("y/x", "((-1)*y) / x**2"),
    ("x/y", "1 / y"), ("x**3", "3*x**2"), ("y**x", "y**x*log(y)"),
])  # fmt: skip
def test_derivatives_without_zeros_and_ones(text, derivative):
    assert derivative == str(Derivative("x")(parse(text)))


def written(text):
    writer = Writer({"x": "x0", "w": "w0"})
    return writer(parse(text)), writer.lines


@pytest.mark.parametrize(("text", "lines"), [
    ("x/2", ["t0 = x0/2"]),  # a number other than 0 divides directly
    ("x/w", ["t0 = divided(x0, w0)"]),
    ("x**2", ["t0 = x0*x0"]),
    ("x**3", ["t0 = power(x0, 3.0)"]),  # as a float: NumPy raises an error for an integer to a negative power
    ("x + x*w + x*w", ["t0 = x0*w0", "t1 = x0+t0", "t2 = t1+t0"]),
    ("x < w", ["t0 = x0 < w0"]),
])  # fmt: skip
def test_assignments(text, lines):
    assert (f"t{len(lines) - 1}", lines) == written(text)

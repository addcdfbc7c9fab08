"""The parts and variables of trees, by hand."""

from __future__ import annotations

from pymbolic import parse
from pymbolic.primitives import If, LogicalNot, Variable

from perfmodel.expressions.functions import call
from perfmodel.expressions.trees import children, extent, variables

X, Y, Z = map(Variable, "xyz")


def test_every_node_has_its_children():
    assert (X, Y) == children(X + Y) == children(X * Y) == children(X / Y) == children(X**Y)
    assert (X, Y) == children(call("max", X, Y)) == children(parse("x < y"))
    assert (X, Y, Z) == children(If(X, Y, Z))
    assert (X,) == children(LogicalNot(X))
    assert () == children(X) == children(5)


def test_variables_come_in_order_of_appearance_each_once():
    assert ("z", "x", "y") == variables(call("max", Z, X * Y + Z))


def test_a_tree_that_stands_twice_counts_twice_and_is_walked_once():
    tree = X
    for _ in range(300):
        tree = call("max", tree, tree)
    assert (301, 2**301 - 1) == extent(tree)
    assert (1, 1) == extent(X) == extent(5)

"""The parts and the variables of an expression's tree."""

from __future__ import annotations

from typing import Any

import pymbolic.primitives as prim


def variables(tree: Any) -> tuple[str, ...]:
    """Return the names of a tree's variables in order of appearance, each once.

    Examples
    --------
    >>> variables(prim.Sum((prim.Variable("b"), prim.Product((prim.Variable("a"), prim.Variable("b"))))))
    ('b', 'a')
    """
    found: dict[str, None] = {}
    seen: set[Any] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, int | float) or node in seen:
            continue
        seen.add(node)
        if isinstance(node, prim.Variable):
            found[node.name] = None
        waiting.extend(reversed(children(node)))
    return tuple(found)


def extent(tree: Any) -> tuple[int, int]:
    """Return how many levels deep a tree is, and how many nodes it has, where a tree that stands twice counts twice.

    Examples
    --------
    >>> extent(prim.Sum((prim.Variable("b"), prim.Product((prim.Variable("a"), prim.Variable("b"))))))
    (3, 5)
    """
    found: dict[int, tuple[int, int]] = {}  # by identity: equal trees are not compared, which recurses
    waiting = [tree]
    while waiting:
        node = waiting[-1]
        below = children(node)
        missing = [child for child in below if id(child) not in found]
        if missing:
            waiting += missing
            continue
        parts = [found[id(child)] for child in below]
        found[id(node)] = 1 + max((deep for deep, _ in parts), default=0), 1 + sum(nodes for _, nodes in parts)
        waiting.pop()
    return found[id(tree)]


def children(tree: Any) -> tuple[Any, ...]:
    """Return the trees directly below a tree."""
    match tree:
        case prim.Sum() | prim.Product() | prim.LogicalAnd() | prim.LogicalOr():
            return tuple(tree.children)
        case prim.Quotient():
            return tree.numerator, tree.denominator
        case prim.Power():
            return tree.base, tree.exponent
        case prim.Call():
            return tuple(tree.parameters)
        case prim.If():
            return tree.condition, tree.then, tree.else_
        case prim.Comparison():
            return tree.left, tree.right
        case prim.LogicalNot():
            return (tree.child,)
    return ()

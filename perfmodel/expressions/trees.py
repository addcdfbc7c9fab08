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

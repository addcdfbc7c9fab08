"""The parts and the variables of an expression's tree."""

from __future__ import annotations

from typing import Any

from pymbolic.primitives import (
    Call,
    Comparison,
    If,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
)


def variables(tree: Any) -> tuple[str, ...]:
    """Return the names of a tree's variables in order of appearance, each once.

    Examples
    --------
    >>> variables(Sum((Variable("b"), Product((Variable("a"), Variable("b"))))))
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
        if isinstance(node, Variable):
            found[node.name] = None
        waiting.extend(reversed(children(node)))
    return tuple(found)


def children(tree: Any) -> tuple[Any, ...]:
    """Return the trees directly below a tree."""
    match tree:
        case Sum() | Product() | LogicalAnd() | LogicalOr():
            return tuple(tree.children)
        case Quotient():
            return tree.numerator, tree.denominator
        case Power():
            return tree.base, tree.exponent
        case Call():
            return tuple(tree.parameters)
        case If():
            return tree.condition, tree.then, tree.else_
        case Comparison():
            return tree.left, tree.right
        case LogicalNot():
            return (tree.child,)
    return ()

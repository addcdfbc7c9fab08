"""The parts and the variables of an expression's tree, and its derivatives without factors of one and terms of zero."""

from __future__ import annotations

from typing import Any

import pymbolic.primitives as prim

from perfmodel.expressions.functions import FUNCTIONS, call


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


class Derivative:
    """The derivative by the variable of a name; a subexpression that occurs twice is derived once.

    Examples
    --------
    >>> x = prim.Variable("x")
    >>> str(Derivative("x")(prim.Sum((prim.Product((3, x)), 1))))
    '3'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: dict[Any, Any] = {}

    def __call__(self, tree: Any) -> Any:
        """Return the derivative of a tree."""
        if isinstance(tree, int | float):
            return 0
        if tree not in self._known:
            self._known[tree] = self._derive(tree)
        return self._known[tree]

    def _derive(self, tree: Any) -> Any:
        match tree:
            case prim.Variable():
                return int(tree.name == self.name)
            case prim.Sum():
                return total(*map(self, tree.children))
            case prim.Product():
                factors = tree.children
                return total(
                    *(
                        product(*factors[:i], self(factor), *factors[i + 1 :])
                        for i, factor in enumerate(factors)
                    )
                )
            case prim.Quotient():
                return self._of_quotient(tree.numerator, tree.denominator)
            case prim.Power():
                return self._of_power(tree, tree.base, tree.exponent)
            case prim.If():
                then, other = self(tree.then), self(tree.else_)
                return 0 if is_zero(then) and is_zero(other) else prim.If(tree.condition, then, other)
            case prim.Call():
                return self._of_call(tree)
        raise TypeError(f"no derivative of {type(tree).__name__}")

    def _of_quotient(self, a: Any, b: Any) -> Any:
        da, db = self(a), self(b)
        first = 0 if is_zero(da) else prim.Quotient(da, b)
        second = 0 if is_zero(db) else prim.Quotient(product(-1, a, db), prim.Power(b, 2))
        return total(first, second)

    def _of_power(self, tree: Any, base: Any, exponent: Any) -> Any:
        by_base, by_exponent = self(base), self(exponent)
        first = 0
        if not is_zero(by_base):
            lower = exponent - 1 if isinstance(exponent, int | float) else prim.Sum((exponent, -1))
            first = product(exponent, prim.Power(base, lower), by_base)
        second = 0 if is_zero(by_exponent) else product(tree, call("log", base), by_exponent)
        return total(first, second)

    def _of_call(self, tree: Any) -> Any:
        inner = [self(argument) for argument in tree.parameters]
        rules = FUNCTIONS[tree.function.name].derivatives or ()
        return total(
            *(
                product(rule(*tree.parameters), derivative)
                for rule, derivative in zip(rules, inner, strict=False)
                if not is_zero(derivative)
            )
        )


def is_zero(tree: Any) -> bool:
    """Return whether a tree is the number zero."""
    return isinstance(tree, int | float) and tree == 0


def total(*trees: Any) -> Any:
    """Return the sum of trees without its zeros."""
    left = tuple(tree for tree in trees if not is_zero(tree))
    return prim.Sum(left) if len(left) > 1 else left[0] if left else 0


def product(*trees: Any) -> Any:
    """Return the product of trees without its ones; 0 if a factor is zero."""
    if any(is_zero(tree) for tree in trees):
        return 0
    left = tuple(tree for tree in trees if not (isinstance(tree, int | float) and tree == 1))
    return prim.Product(left) if len(left) > 1 else left[0] if left else 1

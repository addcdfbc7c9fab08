"""Walkers over an expression's tree: its parts and variables, its derivatives, and Python functions that compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    names: dict[str, None] = {}
    seen: set[Any] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, int | float) or node in seen:
            continue
        seen.add(node)
        if isinstance(node, prim.Variable):
            names[node.name] = None
        waiting.extend(reversed(children(node)))
    return tuple(names)


def extent(tree: Any) -> tuple[int, int]:
    """Return how many levels deep a tree is, and how many nodes it has, where a tree that stands twice counts twice.

    Examples
    --------
    >>> extent(prim.Sum((prim.Variable("b"), prim.Product((prim.Variable("a"), prim.Variable("b"))))))
    (3, 5)
    """
    extents: dict[int, tuple[int, int]] = {}  # by identity: equal trees are not compared, which recurses
    waiting = [tree]
    while waiting:
        node = waiting[-1]
        below = children(node)
        missing = [child for child in below if id(child) not in extents]
        if missing:
            waiting += missing
            continue
        parts = [extents[id(child)] for child in below]
        extents[id(node)] = 1 + max((deep for deep, _ in parts), default=0), 1 + sum(nodes for _, nodes in parts)
        waiting.pop()
    return extents[id(tree)]


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


class Writer:
    """Writes one assignment for each distinct subexpression.

    Examples
    --------
    >>> writer = Writer({"a": "x[0]"})
    >>> square = prim.Product((prim.Variable("a"), prim.Variable("a")))
    >>> writer.write(prim.Sum((square, prim.Product((2, square)))))
    't2'
    >>> writer.lines
    ['t0 = x[0]*x[0]', 't1 = 2*t0', 't2 = t0+t1']
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self._written: dict[Any, str] = {}

    def write(self, tree: Any) -> str:
        """Return the name or number that stands for a tree, after the assignments that it needs."""
        if isinstance(tree, int | float):
            return f"({tree!r})" if tree < 0 else repr(tree)
        if isinstance(tree, prim.Variable):
            return self.names[tree.name]
        if tree not in self._written:
            text = self._step(tree)
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {text}")
            self._written[tree] = name
        return self._written[tree]

    def _step(self, tree: Any) -> str:
        match tree:
            case prim.Sum():
                return "+".join(map(self.write, tree.children))
            case prim.Product():
                return "*".join(map(self.write, tree.children))
            case prim.Quotient():
                return self._quotient(tree.numerator, tree.denominator)
            case prim.Power():
                return self._power(tree.base, tree.exponent)
            case prim.Call():
                return self._call(tree.function.name, tree.parameters)
            case prim.If():
                return self._call("chosen", (tree.condition, tree.then, tree.else_))
            case prim.Comparison():
                return f"{self.write(tree.left)} {tree.operator} {self.write(tree.right)}"
        return self._logic(tree)

    def _logic(self, tree: Any) -> str:
        match tree:
            case prim.LogicalAnd():
                return self._joined("both", tree.children)
            case prim.LogicalOr():
                return self._joined("either", tree.children)
            case prim.LogicalNot():
                return self._call("opposite", (tree.child,))
        raise TypeError(f"no code for {type(tree).__name__}")

    def _quotient(self, a: Any, b: Any) -> str:
        if isinstance(b, int | float) and b:
            return f"{self.write(a)}/{self.write(b)}"
        return self._call("divided", (a, b))

    def _power(self, base: Any, exponent: Any) -> str:
        if exponent == 2:
            return f"{self.write(base)}*{self.write(base)}"
        # NumPy raises an error for an integer to a negative power.
        place = repr(float(exponent)) if isinstance(exponent, int) else self.write(exponent)
        return f"power({self.write(base)}, {place})"

    def _joined(self, name: str, trees: Sequence[Any]) -> str:
        text = self.write(trees[0])
        for tree in trees[1:]:
            text = f"{name}({text}, {self.write(tree)})"
        return text

    def _call(self, name: str, trees: Sequence[Any]) -> str:
        return f"{name}({', '.join(map(self.write, trees))})"


def function_of(
    trees: Sequence[Any],
    features: Sequence[str],
    weights: Sequence[str],
    library: Mapping[str, Callable[..., Any]],
) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """Return the function that computes the trees from feature values and weights, both in order.

    The code calls nothing but the functions of `library`.
    """
    names = {name: f"x{i}" for i, name in enumerate(features)}
    names.update({name: f"w{i}" for i, name in enumerate(weights)})
    writer = Writer(names)
    results = "".join(f"{writer.write(tree)}, " for tree in trees)
    unpacked = [
        f"{''.join(f'{names[name]}, ' for name in group)} = {source}"
        for group, source in ((features, "features"), (weights, "weights"))
        if group
    ]
    lines = "\n    ".join([*unpacked, *writer.lines, f"return ({results})"])
    scope: dict[str, Any] = dict(library)
    exec(f"def function(features, weights):\n    {lines}\n", scope)
    made: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]] = scope["function"]
    return made

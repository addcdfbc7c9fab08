"""Walks over an expression's tree: its variables, its derivatives, and Python functions that compute it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pymbolic.primitives as prim
from pymbolic.mapper import CachedMapper
from pymbolic.mapper.differentiator import DifferentiationMapper
from pymbolic.primitives import flattened_product, flattened_sum, is_zero

from perfmodel.expressions.functions import FUNCTIONS, call


def variables(tree: Any) -> tuple[str, ...]:
    """Return the names of a tree's variables in order of appearance, each once."""
    return tuple(dict.fromkeys(node.name for node in nodes(tree) if isinstance(node, prim.Variable)))


def nodes(tree: Any) -> Iterator[Any]:
    """Yield each distinct node of a tree, parents before children."""
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting += reversed(children(node))
            yield node


def children(tree: Any) -> tuple[Any, ...]:
    """Return the child trees of a tree."""
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


def extent(tree: Any) -> tuple[int, int]:
    """Return the numbers of levels and of nodes of a tree, without recursion. A shared subtree counts each time."""
    extents: dict[int, tuple[int, int]] = {}  # by identity: comparing equal trees recurses
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


class Derivative(CachedMapper, DifferentiationMapper):  # type: ignore[misc]
    """The derivative by a variable. Unlike pymbolic's mapper, it leaves out all zeros and ones."""

    def __init__(self, name: str) -> None:
        super().__init__(prim.Variable(name))

    def map_quotient(self, expr: Any) -> Any:
        a, b = expr.numerator, expr.denominator
        da, db = self.rec(a), self.rec(b)
        first = 0 if is_zero(da) else prim.Quotient(da, b)
        second = 0 if is_zero(db) else prim.Quotient(flattened_product((-1, a, db)), prim.Power(b, 2))
        return flattened_sum((first, second))

    def map_power(self, expr: Any) -> Any:
        base, exponent = expr.base, expr.exponent
        by_base, by_exponent = self.rec(base), self.rec(exponent)
        first = 0
        if not is_zero(by_base):
            lower = exponent - 1 if isinstance(exponent, int | float) else prim.Sum((exponent, -1))
            first = flattened_product((exponent, prim.Power(base, lower), by_base))
        second = 0 if is_zero(by_exponent) else flattened_product((expr, call("log", base), by_exponent))
        return flattened_sum((first, second))

    def map_if(self, expr: Any) -> Any:
        then, other = self.rec(expr.then), self.rec(expr.else_)
        return 0 if is_zero(then) and is_zero(other) else prim.If(expr.condition, then, other)

    def map_call(self, expr: Any) -> Any:
        rules = FUNCTIONS[expr.function.name].derivatives or ()
        inner = map(self.rec, expr.parameters)
        return flattened_sum(
            flattened_product((rule(*expr.parameters), derivative))
            for rule, derivative in zip(rules, inner, strict=False) if not is_zero(derivative)
        )  # fmt: skip


class Writer(CachedMapper):  # type: ignore[misc]
    """Writes one assignment for each distinct subexpression, and returns its name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names
        self.lines: list[str] = []

    def map_constant(self, expr: Any) -> str:
        return f"({expr!r})" if expr < 0 else repr(expr)

    def map_variable(self, expr: Any) -> str:
        return self.names[expr.name]

    def map_sum(self, expr: Any) -> str:
        return self._assigned("+".join(map(self.rec, expr.children)))

    def map_product(self, expr: Any) -> str:
        return self._assigned("*".join(map(self.rec, expr.children)))

    def map_quotient(self, expr: Any) -> str:
        a, b = expr.numerator, expr.denominator
        if isinstance(b, int | float) and b:
            return self._assigned(f"{self.rec(a)}/{self.rec(b)}")
        return self._called("divided", (a, b))

    def map_power(self, expr: Any) -> str:
        base, exponent = self.rec(expr.base), expr.exponent
        if exponent == 2:
            return self._assigned(f"{base}*{base}")
        # NumPy raises an error for an integer to a negative power.
        return self._assigned(f"power({base}, {self.rec(float(exponent) if isinstance(exponent, int) else exponent)})")

    def map_call(self, expr: Any) -> str:
        return self._called(expr.function.name, expr.parameters)

    def map_if(self, expr: Any) -> str:
        return self._called("chosen", (expr.condition, expr.then, expr.else_))

    def map_comparison(self, expr: Any) -> str:
        return self._assigned(f"{self.rec(expr.left)} {expr.operator} {self.rec(expr.right)}")

    def map_logical_and(self, expr: Any) -> str:
        return self._joined("both", expr.children)

    def map_logical_or(self, expr: Any) -> str:
        return self._joined("either", expr.children)

    def map_logical_not(self, expr: Any) -> str:
        return self._called("opposite", (expr.child,))

    def _joined(self, name: str, trees: Sequence[Any]) -> str:
        text = self.rec(trees[0])
        for tree in trees[1:]:
            text = f"{name}({text}, {self.rec(tree)})"
        return self._assigned(text)

    def _called(self, name: str, trees: Sequence[Any]) -> str:
        return self._assigned(f"{name}({', '.join(map(self.rec, trees))})")

    def _assigned(self, text: str) -> str:
        self.lines.append(f"t{len(self.lines)} = {text}")
        return f"t{len(self.lines) - 1}"


def function_of(
    trees: Sequence[Any], features: Sequence[str], weights: Sequence[str], library: Mapping[str, Callable[..., Any]]
) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:  # fmt: skip
    """Return a function that computes the trees from feature values and weights, each in the given order."""
    names = {name: f"x{i}" for i, name in enumerate(features)}
    names.update({name: f"w{i}" for i, name in enumerate(weights)})
    writer = Writer(names)
    results = "".join(f"{writer(tree)}, " for tree in trees)
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

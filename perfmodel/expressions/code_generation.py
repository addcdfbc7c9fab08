"""Python functions that compute expressions, for floats and for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pymbolic.primitives as prim


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

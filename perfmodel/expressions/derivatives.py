"""Derivatives of expressions, without factors of one and terms of zero."""

from __future__ import annotations

from typing import Any

from pymbolic.primitives import Call, If, Power, Product, Quotient, Sum, Variable

from perfmodel.expressions.functions import FUNCTIONS, call


class Derivative:
    """The derivative by the variable of a name; a subexpression that occurs twice is derived once.

    Examples
    --------
    >>> x = Variable("x")
    >>> str(Derivative("x")(Sum((Product((3, x)), 1))))
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
            case Variable():
                return int(tree.name == self.name)
            case Sum():
                return total(*map(self, tree.children))
            case Product():
                factors = tree.children
                return total(
                    *(
                        product(*factors[:i], self(factor), *factors[i + 1 :])
                        for i, factor in enumerate(factors)
                    )
                )
            case Quotient():
                return self._of_quotient(tree.numerator, tree.denominator)
            case Power():
                return self._of_power(tree, tree.base, tree.exponent)
            case If():
                then, other = self(tree.then), self(tree.else_)
                return 0 if is_zero(then) and is_zero(other) else If(tree.condition, then, other)
            case Call():
                return self._of_call(tree)
        raise TypeError(f"no derivative of {type(tree).__name__}")

    def _of_quotient(self, a: Any, b: Any) -> Any:
        da, db = self(a), self(b)
        first = 0 if is_zero(da) else Quotient(da, b)
        second = 0 if is_zero(db) else Quotient(product(-1, a, db), Power(b, 2))
        return total(first, second)

    def _of_power(self, tree: Any, base: Any, exponent: Any) -> Any:
        by_base, by_exponent = self(base), self(exponent)
        first = 0
        if not is_zero(by_base):
            lower = exponent - 1 if isinstance(exponent, int | float) else Sum((exponent, -1))
            first = product(exponent, Power(base, lower), by_base)
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
    return Sum(left) if len(left) > 1 else left[0] if left else 0


def product(*trees: Any) -> Any:
    """Return the product of trees without its ones; 0 if a factor is zero."""
    if any(is_zero(tree) for tree in trees):
        return 0
    left = tuple(tree for tree in trees if not (isinstance(tree, int | float) and tree == 1))
    return Product(left) if len(left) > 1 else left[0] if left else 1

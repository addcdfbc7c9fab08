"""Units of the weights of an expression whose value is in seconds."""

from __future__ import annotations

from typing import Any

from pymbolic.primitives import Call, If, Power, Product, Quotient, Sum, Variable

from perfmodel.expressions.expression import Expression
from perfmodel.expressions.trees import children
from perfmodel.features import unit

UNKNOWN = "?"
_SAME = ("max", "min", "abs")


def weight_units(expression: Expression) -> dict[str, str]:
    """Return the unit of each weight of an expression over features whose value is in seconds.

    Terms of a sum, arguments of ``max`` and branches of ``where`` are in seconds too; so is a weight
    times a feature, which gives the unit of the weight. Exponents and the sharpness of
    ``smooth_max`` are pure numbers. A unit that cannot be found is ``?``.

    Examples
    --------
    >>> from perfmodel.expressions.expression import parse
    >>> weight_units(parse("w_start + smooth_max(w_a*op_float32_add, launches/w_b, w_s)"))
    {'w_start': 's', 'w_a': 's/operation', 'w_b': 'launch/s', 'w_s': ''}
    """
    found: dict[str, str] = {}
    _seconds(expression.tree, expression, found)
    return {name: found.get(name, UNKNOWN) for name in expression.weights}


def _seconds(tree: Any, expression: Expression, found: dict[str, str]) -> None:
    """Add to `found` the units of the weights in a tree whose value is in seconds."""
    match tree:
        case Sum():
            inside: tuple[Any, ...] = tree.children
        case If():
            inside = (tree.then, tree.else_)
        case Call() if tree.function.name in _SAME:
            inside = tree.parameters
        case Call() if tree.function.name == "smooth_max":
            inside = tree.parameters[:2]
            _pure(tree.parameters[2], expression, found)
        case _:
            _factors(tree, expression, found)
            return
    for one in inside:
        _seconds(one, expression, found)


def _factors(tree: Any, expression: Expression, found: dict[str, str]) -> None:
    above: list[Any] = []
    below: list[Any] = []
    _flatten(tree, above, below)
    for one in (*above, *below):
        _exponents(one, expression, found)
    names = [one.name for one in (*above, *below) if isinstance(one, Variable)]
    weights = [name for name in names if name in expression.weights]
    if len(weights) != 1 or len(names) != len(above) + len(below):
        return
    (weight,) = weights
    over = [unit(one.name) for one in above if one.name != weight]
    under = [unit(one.name) for one in below if one.name != weight]
    in_numerator = any(one.name == weight for one in above)
    top, bottom = (["s", *under], over) if in_numerator else (over, [*under, "s"])
    found.setdefault(weight, "/".join(["*".join(top) or "1", *bottom]))


def _flatten(tree: Any, above: list[Any], below: list[Any]) -> None:
    """Collect the factors of a product or quotient, without numbers."""
    match tree:
        case int() | float():
            pass
        case Product():
            for one in tree.children:
                _flatten(one, above, below)
        case Quotient():
            _flatten(tree.numerator, above, below)
            _flatten(tree.denominator, below, above)
        case _:
            above.append(tree)


def _exponents(tree: Any, expression: Expression, found: dict[str, str]) -> None:
    if isinstance(tree, Power):
        _pure(tree.exponent, expression, found)
    for one in children(tree):
        _exponents(one, expression, found)


def _pure(tree: Any, expression: Expression, found: dict[str, str]) -> None:
    if isinstance(tree, Variable) and tree.name in expression.weights:
        found.setdefault(tree.name, "")

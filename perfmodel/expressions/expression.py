r"""The language of formulas that compute seconds from features and weights.

An expression is text: numbers, features, weights (names that begin with ``w_``), ``+ - * / **``, ``where(condition, a,
b)`` (or ``a if condition else b``) and the functions of :data:`perfmodel.expressions.functions.FUNCTIONS`. An
expression may use *parts*, which are named steps defined earlier, and *sums*, :math:`\sum_f w_f f` over named features
with a weight ``w_`` + feature for each. :func:`parse` makes three checks. Every name must be known. The expression must
be differentiable by every weight (``max`` and ``where`` have the derivative of the branch taken). By the ranges of its
pieces, the expression must not be negative if features and weights are not negative.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from pymbolic.primitives import Call, If, Power, Product, Quotient, Sum, Variable

from perfmodel.errors import UnknownNameError
from perfmodel.expressions.functions import ARRAY_NAMES, SCALAR_NAMES
from perfmodel.expressions.parsing import Parser, Subexpression
from perfmodel.expressions.trees import Derivative, children, function_of, variables
from perfmodel.features import unit
from perfmodel.values import FrozenValue, cached_method

UNKNOWN = "?"  # a unit that does not follow from the expression
_SAME = ("max", "min", "abs")  # functions whose value has the unit of the arguments


@dataclass(frozen=True)
class Expression(FrozenValue):
    """A checked expression, as :func:`parse` returns it, with its names in order of appearance."""

    text: str
    tree: Any = field(repr=False)
    features: tuple[str, ...]
    weights: tuple[str, ...]

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]) -> Any:
        """Return the value: a float if all features are numbers, otherwise an array of their broadcast shape.

        A missing feature is zero. `weights` are in the order of :attr:`weights`. 0/0 is NaN, and poles are infinite.
        """
        given = [features.get(name, 0.0) for name in self.features]
        if _any_array(given):
            shape = np.broadcast_shapes(*(np.shape(value) for value in given))
            with np.errstate(all="ignore"):
                return np.broadcast_to(self._compiled(False, False)(given, weights)[0], shape).astype(np.float64)
        return float(self._compiled(True, False)(given, weights)[0])

    def jacobian(
        self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        r"""Return the derivatives by the weights, shape (\*features' shape, n_weights), with one value at a kink."""
        given = [np.asarray(features.get(name, 0.0), dtype=np.float64) for name in self.features]
        shape = np.broadcast_shapes(*(value.shape for value in given))
        result = np.zeros((*shape, len(self.weights)))
        with np.errstate(all="ignore"):
            for i, column in enumerate(self._compiled(False, True)(given, np.asarray(weights, dtype=np.float64))):
                result[..., i] = column
        return result

    def slopes(self, features: Mapping[str, Any], weights: Sequence[float]) -> tuple[Any, ...]:
        """Return the derivatives by each weight: floats if all features are numbers (quicker), otherwise arrays."""
        given = [features.get(name, 0.0) for name in self.features]
        if not _any_array(given):
            return tuple(self._compiled(True, True)(given, weights))
        with np.errstate(all="ignore"):
            return tuple(self._compiled(False, True)(given, weights))

    @cached_method
    def _compiled(self, floats: bool, slopes: bool) -> Callable[..., Any]:
        trees = [Derivative(name)(self.tree) for name in self.weights] if slopes else [self.tree]
        return function_of(trees, self.features, self.weights, SCALAR_NAMES if floats else ARRAY_NAMES)


@dataclass(frozen=True)
class Expressions(FrozenValue):
    """Expressions that are evaluated together, with given weights. Common steps are computed once."""

    expressions: tuple[Expression, ...]
    weights: Mapping[str, float]

    def values(self, features: Mapping[str, Any]) -> list[Any]:
        """Return the value of each expression, as :meth:`Expression.value` does."""
        given = [features.get(name, 0.0) for name in self._features]
        if _any_array(given):
            return [each.value(features, [self.weights[name] for name in each.weights]) for each in self.expressions]
        return list(map(float, self._floats(given, self._weights)))

    @cached_property
    def _features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.expressions for name in each.features))

    @cached_property
    def _weights(self) -> tuple[float, ...]:
        return tuple(self.weights.values())

    @cached_property
    def _floats(self) -> Callable[..., Any]:
        trees = [each.tree for each in self.expressions]
        return function_of(trees, self._features, tuple(self.weights), SCALAR_NAMES)


def _any_array(values: Sequence[Any]) -> bool:
    if {*map(type, values)} == {float}:
        return False  # the most frequent case, and predictions must be quick
    return any(isinstance(value, np.ndarray) for value in values)


def parse(
    text: str, names: Collection[str] = (), *, parts: Mapping[str, str] | None = None,
    sums: Mapping[str, Collection[str]] | None = None, constants: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None
) -> Expression:  # fmt: skip
    """Check an expression and return it.

    Besides features, the expression may use the quantities in `names`, the steps in `parts`, and the `sums` of
    features. The text of a part may use earlier steps. `constants`, such as facts of a device, replace names or weights
    by numbers. A weight without `bounds` is not negative. Raise a FamilyError if the text, or the text of a part, is
    not an expression or has an unknown name. The same error is raised if it is not differentiable by its weights, or
    can be negative. The text of the error points to the characters at fault.

    >>> expression = parse("smooth_max(w_add*op_float32_add, w_load*global_load_32_stride1, w_sharpness)")
    >>> expression.weights
    ('w_add', 'w_load', 'w_sharpness')
    >>> expression.value({"op_float32_add": 3.0, "global_load_32_stride1": 2.0}, [1.0, 2.0, 2.0])
    5.0
    """
    terms: dict[str, Subexpression] = {
        name: Subexpression(Variable(name), limits, True) for name, limits in (bounds or {}).items()
    }
    terms.update({name: Subexpression(value, (value, value)) for name, value in (constants or {}).items()})
    terms.update({name: _sum_of(features) for name, features in (sums or {}).items()})
    terms.update({name: Subexpression(Variable(name)) for name in names})
    for name, part in (parts or {}).items():
        terms[name] = Parser(part, terms, _is_feature).parse()
    parser = Parser(text, terms, _is_feature)
    term = parser.parse()
    if term.range[0] < 0 and parser.sign_lost_at is not None:
        parser.fail(
            parser.sign_lost_at,
            "this can be negative, and then the seconds can be too",
            "use max(..., 0), or write it as a sum",
        )
    used = variables(term.tree)
    weights = tuple(name for name in used if name.startswith("w_"))
    return Expression(text, term.tree, tuple(n for n in used if n not in weights), weights)


def _sum_of(features: Collection[str]) -> Subexpression:
    products = tuple(Product((Variable(f"w_{name}"), Variable(name))) for name in features)
    if not products:
        return Subexpression(0, (0.0, 0.0))
    return Subexpression(Sum(products) if len(products) > 1 else products[0], weighted=True)


def _is_feature(name: str) -> bool:
    try:
        unit(name)
    except UnknownNameError:
        return False
    return True


def weight_units(expression: Expression) -> dict[str, str]:
    """Return the unit of each weight of an expression whose value is in seconds.

    Terms of a sum, arguments of ``max`` and branches of ``where`` are in seconds, so a weight's feature determines its
    unit. Exponents and the sharpness of ``smooth_max`` are pure numbers. Other units are ``?``.
    """
    units: dict[str, str] = {}
    _add_units(expression.tree, True, frozenset(expression.weights), units)
    return {name: units.get(name, UNKNOWN) for name in expression.weights}


def _add_units(tree: Any, seconds: bool, weights: Collection[str], units: dict[str, str]) -> None:
    """Add the units of the weights in a tree, whose value may be in seconds."""
    inside: Sequence[Any] = ()  # trees with the same unit
    pure = None
    match tree:
        case Sum():
            inside = tree.children
        case If():
            inside = (tree.then, tree.else_)
        case Call() if tree.function.name in _SAME:
            inside = tree.parameters
        case Call() if tree.function.name == "smooth_max":
            *inside, pure = tree.parameters
        case Power():
            pure = tree.exponent
    if isinstance(pure, Variable) and pure.name in weights:
        units.setdefault(pure.name, "")
    if seconds and not inside:
        _add_unit_of_product(tree, weights, units)
    for child in children(tree):
        _add_units(child, seconds and any(child is part for part in inside), weights, units)


def _add_unit_of_product(tree: Any, weights: Collection[str], units: dict[str, str]) -> None:
    above, below = _factors(tree)
    every = (*above, *below)
    if not all(isinstance(factor, Variable) for factor in every):
        return
    if len(names := [factor.name for factor in every if factor.name in weights]) == 1:
        over, under = ([unit(factor.name) for factor in part if factor.name not in weights] for part in (above, below))
        top, bottom = (["s", *under], over) if len(over) < len(above) else (over, [*under, "s"])
        units.setdefault(names[0], "/".join(["*".join(top) or "1", *bottom]))


def _factors(tree: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(tree, int | float):
        return [], []
    if isinstance(tree, Product):
        above, below = zip(*map(_factors, tree.children), strict=True)
        return [*chain(*above)], [*chain(*below)]
    if isinstance(tree, Quotient):
        (above, below), (below_too, above_too) = _factors(tree.numerator), _factors(tree.denominator)
        return [*above, *above_too], [*below, *below_too]
    return [tree], []

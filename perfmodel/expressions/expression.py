r"""The language of formulas that compute seconds from features and weights.

An expression is text: numbers, features, weights (names that begin with ``w_``), ``+ - * / **``,
``where(condition, a, b)`` (or ``a if condition else b``) and the functions of
:data:`perfmodel.expressions.functions.FUNCTIONS`. It may use *parts*, named steps defined before it,
and *sums*: a sum stands for :math:`\sum_f w_f f` over features that it names, with a weight ``w_``
+ feature for each. An expression is checked before use: every name is known; it is differentiable
by every weight (``max`` and ``where`` have the derivative of the branch taken; functions that jump
are for features only); and it cannot be negative, as far as the ranges of its pieces show, while
features and weights are not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from pymbolic.primitives import Product, Sum, Variable

from perfmodel.errors import UnknownFeatureError
from perfmodel.expressions.code_generation import function_of
from perfmodel.expressions.derivatives import Derivative
from perfmodel.expressions.functions import ARRAY_NAMES, SCALAR_NAMES
from perfmodel.expressions.parsing import Parser, Term
from perfmodel.expressions.trees import variables
from perfmodel.features import unit
from perfmodel.lazy import Lazy, cached_property


@dataclass(frozen=True)
class Expression(Lazy):
    """A checked expression, as :func:`parse` returns it; names are in the order of appearance."""

    text: str  # that was parsed
    tree: Any = field(repr=False)  # a pymbolic expression
    features: tuple[str, ...]  # names other than weights
    weights: tuple[str, ...]  # names that begin with ``w_``

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]) -> Any:
        """Return the value: a float where all features are numbers, else an array of the shape to which they broadcast.

        A feature that is not listed is zero; `weights` has a number for each of :attr:`weights`, in order. Where the
        value is not defined (0/0) it is NaN, and it is infinite at poles.
        """
        given = [features.get(name, 0.0) for name in self.features]
        if any(isinstance(one, np.ndarray) for one in given):
            shape = np.broadcast_shapes(*(np.shape(one) for one in given))
            with np.errstate(all="ignore"):
                return np.broadcast_to(self._arrays(given, weights)[0], shape).astype(np.float64)
        return float(self._floats(given, weights)[0])

    def jacobian(
        self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        r"""Return the derivatives by the weights, shape (\*features' shape, n_weights).

        At a kink it is the derivative of one side.
        """
        given = [np.asarray(features.get(name, 0.0), dtype=np.float64) for name in self.features]
        shape = np.broadcast_shapes(*(one.shape for one in given))
        result = np.zeros((*shape, len(self.weights)))
        with np.errstate(all="ignore"):
            for i, column in enumerate(self._columns(given, np.asarray(weights, dtype=np.float64))):
                result[..., i] = column
        return result

    def slopes(self, features: Mapping[str, Any], weights: Sequence[float]) -> tuple[Any, ...]:
        """Return the derivatives by the weights as :meth:`jacobian`, one for each, without an array that holds all.

        They are floats where all features are numbers, which is much quicker; else each broadcasts to the
        features' shape.
        """
        given = [features.get(name, 0.0) for name in self.features]
        columns = self._columns if any(isinstance(one, np.ndarray) for one in given) else self._float_columns
        with np.errstate(all="ignore"):
            return tuple(columns(given, weights))

    def derivative(self, weight: str) -> Any:
        """Return the derivative by a weight, as a pymbolic expression."""
        return Derivative(weight)(self.tree)

    @cached_property
    def linear(self) -> bool:
        """Whether the value is a sum of weights times values without a weight."""
        own = set(self.weights)
        free = all(own.isdisjoint(variables(self.derivative(name))) for name in self.weights)
        return free and not self._constant

    @property
    def _constant(self) -> bool:
        """Whether the value is not zero where all weights are zero, tried at random features."""
        if not self.weights:
            return True
        draw = np.random.default_rng(0).uniform(1, 2, (len(self.features), 16))
        left = self.value(dict(zip(self.features, draw, strict=True)), [0.0] * len(self.weights))
        return bool(np.any(left != 0))

    @cached_property
    def _floats(self) -> Callable[..., Any]:
        return function_of([self.tree], self.features, self.weights, SCALAR_NAMES)

    @cached_property
    def _arrays(self) -> Callable[..., Any]:
        return function_of([self.tree], self.features, self.weights, ARRAY_NAMES)

    @cached_property
    def _columns(self) -> Callable[..., Any]:
        return function_of(self._derivatives, self.features, self.weights, ARRAY_NAMES)

    @cached_property
    def _float_columns(self) -> Callable[..., Any]:
        return function_of(self._derivatives, self.features, self.weights, SCALAR_NAMES)

    @cached_property
    def _derivatives(self) -> list[Any]:
        return [self.derivative(name) for name in self.weights]


def parse(
    text: str,
    names: Collection[str] = (),  # of numbers of a kernel other than features
    *,
    parts: Mapping[str, str] | None = None,  # texts of named steps, each of which may use those before it
    sums: Mapping[str, Collection[str]] | None = None,  # the features that each sum adds up
    constants: Mapping[str, float] | None = None,  # numbers that replace names or weights, as facts of a device
    bounds: Mapping[str, tuple[float, float]] | None = None,  # of weights; without one a weight is not negative
) -> Expression:
    """Check an expression and return it.

    Raises
    ------
    ExpressionError
        If the text, or that of a part, is no expression, has an unknown name, cannot be
        differentiated by its weights, or can be negative. The message points to the place.

    Examples
    --------
    >>> one = parse("smooth_max(w_add*op_float32_add, w_load*global_load_32_stride1, w_sharpness)")
    >>> one.weights
    ('w_add', 'w_load', 'w_sharpness')
    >>> one.value({"op_float32_add": 3.0, "global_load_32_stride1": 2.0}, [1.0, 2.0, 2.0])
    5.0
    >>> one.linear
    False
    """
    terms: dict[str, Term] = {
        name: Term(Variable(name), limits, True) for name, limits in (bounds or {}).items()
    }
    terms.update({name: Term(value, (value, value)) for name, value in (constants or {}).items()})
    terms.update({name: _sum_of(features) for name, features in (sums or {}).items()})
    terms.update({name: Term(Variable(name)) for name in names})
    for name, part in (parts or {}).items():
        terms[name] = Parser(part, terms, _is_feature).parse()
    parser = Parser(text, terms, _is_feature)
    found = parser.parse()
    if found.range[0] < 0 and parser.sign_lost_at is not None:
        parser.fail(
            parser.sign_lost_at,
            "this can be below zero, and then so can the seconds",
            "keep it up with max(..., 0), or write it as a sum",
        )
    used = variables(found.tree)
    weights = tuple(name for name in used if name.startswith("w_"))
    return Expression(text, found.tree, tuple(n for n in used if n not in weights), weights)


def linear(features: Collection[str]) -> Expression:
    """Return the sum of features, each times a weight of its own.

    Examples
    --------
    >>> linear(["launches", "work_groups"]).text
    'w_launches*launches + w_work_groups*work_groups'
    """
    text = " + ".join(f"w_{name}*{name}" for name in features)
    return parse(text, features)


def _sum_of(features: Collection[str]) -> Term:
    products = tuple(Product((Variable(f"w_{name}"), Variable(name))) for name in features)
    if not products:
        return Term(0, (0.0, 0.0))
    return Term(Sum(products) if len(products) > 1 else products[0], weighted=True)


def _is_feature(name: str) -> bool:
    try:
        unit(name)
    except UnknownFeatureError:
        return False
    return True

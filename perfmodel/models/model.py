"""A model family as a value: which numbers of a kernel it uses, and how they become seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from pymbolic.primitives import Call, Variable

from perfmodel.documents import one_line, require
from perfmodel.errors import ExpressionError
from perfmodel.expressions.expression import parse, weight_units
from perfmodel.expressions.trees import children
from perfmodel.facts import FactValue
from perfmodel.features import matches, unit
from perfmodel.lazy import Lazy, cached_property
from perfmodel.quantities.case import Case, computed

EXPRESSION = "expr:"
"""Prefix of a family's definition where the rest of it is an expression."""

TOTAL = "total"
"""The sum over a family's features; the run time of a family that gives no expression."""

Quantities: TypeAlias = Callable[[Case], Mapping[str, Any]]


def _nothing(_: Case) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Weight:
    """A number in a family's expression that belongs to the device.

    Parameters
    ----------
    name
        Identifier beginning with ``w_``.
    unit
        As in ``s/operation``; empty for a pure number.
    start
        Value at which a fit begins, in `unit`. With None the fit begins where all terms take a similar time.
    lower, upper
        Bounds that a fit keeps.
    fact
        Key of the device's fact that gives the number. The weight is fitted only if the device does not have
        the fact and the options of the fit allow it.
    words
        What one unit of it is charged for, or what the number is, for reports: ``a cache line stored to``.
    counted
        What a rate of it counts, as in ``line``; empty where a rate says nothing.
    """

    name: str
    unit: str
    start: float | None = 1.0
    lower: float = 0.0
    upper: float = math.inf
    fact: str = ""
    words: str = ""
    counted: str = ""


@dataclass(frozen=True)
class Family(Lazy):
    r"""A model of run time whose weights are to be fitted.

    The run time is an expression in features of the kernel, quantities that the family computes, and weights.
    A *sum* in it is :math:`\sum_f w_f f` over all features :math:`f` that match its patterns and that some
    measurement exercises; each weight has the name of its feature and is in seconds per unit of it. The sum
    ``total`` runs over :attr:`features`; it is the run time unless an expression is given.

    Parameters
    ----------
    name, citation
        Identifier (the name of the family's file), and the paper and section that define the family.
    features
        Patterns (as for file names) of the features in the sum ``total``.
    sums
        Patterns of each other sum in the expression, by its name.
    quantities, units
        Function from a :class:`~perfmodel.quantities.case.Case` to the family's quantities by name, and the unit of
        each, empty for a pure number.
    weights
        Weights that are fitted beside those of the sums.
    parts, expression
        Named steps, each of which may use those before it, and the run time [s], in the language of
        :mod:`perfmodel.expressions.expression`.
    additive
        Whether a prediction is the sum of its terms.
    resources
        The quantities of each resource, if the run time is an overhead and a smooth maximum of resources with one
        weight ``w_<quantity>`` for each quantity: :mod:`perfmodel.fitting.resources` then fits it.
    choices
        Facts of a device, with their candidates, that a fit chooses by cross-validation where they are not known.
    words, advice
        By its name what a part of the run time stands for, and what to try where it is the largest, for reports.
    definition
        Source of a user's own family, for :func:`perfmodel.models.find_family`: ``expr:`` and an
        expression, or the path of a file.
    sha256
        Of that file; empty where the family comes from none.
    """

    name: str
    citation: str
    features: tuple[str, ...] = ()
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    quantities: Quantities = _nothing
    units: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    weights: tuple[Weight, ...] = ()
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    expression: str = TOTAL
    additive: bool = True
    resources: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    choices: Mapping[str, tuple[FactValue, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    advice: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    definition: str = ""
    sha256: str = ""

    def __repr__(self) -> str:
        return one_line(f"<Family {self.name}: {self.citation}>")

    @classmethod
    def from_expression(
        cls, expression: str, name: str = "expression", *, citation: str = "", weights: Iterable[Weight] = ()
    ) -> Family:
        """Make a family from an expression over features and weights.

        Parameters
        ----------
        expression
            Run time [s] from features and weights ``w_*`` (:mod:`perfmodel.expressions.expression`).
        name, citation
            Identifier and source of the family.
        weights
            Weights with another unit, start or bounds than those that follow from the expression,
            and weights that a fact of the device gives.

        Raises
        ------
        ExpressionError
            If the expression has no weight, no feature, an unknown name, or lacks a weight of `weights`; if it
            cannot be differentiated or can be negative. The message points to the place.

        Examples
        --------
        >>> family = Family.from_expression("w_launch*launches + max(w_add*op_float32_add, w_wait)")
        >>> [(weight.name, weight.unit) for weight in family.weights]
        [('w_launch', 's/launch'), ('w_add', 's/operation'), ('w_wait', 's')]
        """
        require(isinstance(expression, str), "Family.from_expression: expression", expression, "the formula as text")
        return cls(
            name, citation or "a user's own expression", weights=_own_weights(expression, tuple(weights)),
            expression=expression, additive=False, definition=f"{EXPRESSION}{expression}",
        )  # fmt: skip

    @cached_property
    def plain_sum(self) -> bool:
        """Whether the run time is the sum over :attr:`features` and nothing else."""
        return self.expression == TOTAL

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of all features that get a weight of their own."""
        return (*self.features, *(pattern for patterns in self.sums.values() for pattern in patterns))

    def values(self, case: Case) -> Mapping[str, Any]:
        """Return what the expression is evaluated from: a case's features and the family's quantities.

        Raises
        ------
        QuantitiesError
            If the quantities are not what the family declares.
        """
        own = computed(self.quantities, self.units, case)
        return {**case.features, **own} if own else case.features

    def takes(self, feature: str) -> bool:
        """Return whether the family has a weight for a feature.

        Examples
        --------
        >>> family = Family("toy", "nowhere", ("op_float*_add", "launches"))
        >>> family.takes("op_float64_add"), family.takes("op_int32_add")
        (True, False)
        """
        return matches(self.patterns, feature)

    def select(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return those of the features that the family has a weight for, sorted."""
        return tuple(sorted(name for name in set(features) if self.takes(name)))

    def weight_unit(self, weight: str) -> str:
        """Return the unit of a weight.

        Examples
        --------
        >>> Family("toy", "nowhere", ("launches",)).weight_unit("launches")
        's/launch'
        """
        own = {one.name: one.unit for one in self.weights}
        return own[weight] if weight in own else f"s/{unit(weight)}"

    def terms(self, weights: Mapping[str, float], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the seconds of each feature that has a weight [s per unit] and a value (a number or an array)."""
        return {name: weights[name] * value for name, value in values.items() if name in weights}


def _own_weights(text: str, given: tuple[Weight, ...] = ()) -> tuple[Weight, ...]:
    """Check an expression over features and return its weights in order of appearance.

    A weight that is not given has the unit that follows from the expression. The fit finds its start, except
    for exponents, which start at 1. The sharpness of a ``smooth_max`` lies between 1 (the sum) and 64.
    """
    found = parse(text, bounds={weight.name: (weight.lower, weight.upper) for weight in given})
    known = {weight.name: weight for weight in given}
    lacking = [name for name in known if name not in found.weights]
    if lacking:
        advice = "use it, or leave it out of the weights"
        raise ExpressionError(text, 0, len(text), f"the weight '{lacking[0]}' does not stand in it", advice)
    if not found.weights:
        advice = "multiply features by weights, named w_..."
        raise ExpressionError(text, 0, len(text), "there is no weight in it, so nothing to fit", advice)
    if not found.features:
        advice = "multiply weights by features, named like op_float32_add or launches"
        raise ExpressionError(text, 0, len(text), "there is no feature in it, so all kernels take as long", advice)
    units, sharp = weight_units(found), set(_sharpnesses(found.tree))
    own = {
        name: Weight(name, "", start=4.0, lower=1.0, upper=64.0)
        if name in sharp
        else Weight(name, unit, start=None if unit else 1.0)
        for name, unit in units.items()
    }
    return tuple({**own, **known}.values())


def _sharpnesses(tree: Any) -> Iterator[str]:
    """Yield the weights that are the sharpness of a smooth maximum."""
    match tree:
        case Call(parameters=(_, _, Variable(name=name))) if tree.function.name == "smooth_max":
            yield name
    for one in children(tree):
        yield from _sharpnesses(one)

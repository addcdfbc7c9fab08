"""The value that a model family is: what it takes of a kernel and how that becomes seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from perfmodel.features import matches, unit
from perfmodel.quantities.case import Case

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
        A fair guess, in `unit`: where a fit begins. None where there is none; the fit then begins
        where all terms take a similar time.
    lower, upper
        Bounds that a fit keeps.
    fact
        Key of the device's fact that gives the number. Where the device has the fact the weight is
        not fitted; where it has not, it is fitted only if asked.
    """

    name: str
    unit: str
    start: float | None = 1.0
    lower: float = 0.0
    upper: float = math.inf
    fact: str = ""


@dataclass(frozen=True)
class Family:
    r"""A model of run time whose weights are to be fitted.

    The run time is an expression in the kernel's features, in quantities that the family computes
    itself, and in weights. A *sum* in it stands for

    .. math:: \sum_f w_f f

    over all features :math:`f` that fit its patterns and that some measurement exercises, with a
    weight named after its feature, in seconds per unit of it. Without an expression the run time
    is the sum ``total`` over :attr:`features`.

    Parameters
    ----------
    name
        Identifier, the name of the family's file.
    citation
        Paper and section that define it.
    features
        Patterns (as for file names) of the features that the linear form takes. All others are no
        part of the model.
    sums
        For each sum in the expression its patterns.
    quantities
        Function of a :class:`~perfmodel.quantities.case.Case` that gives the family's own numbers.
    units
        Unit of each quantity; empty for a pure number.
    weights
        What is fitted beside the weights of the sums.
    parts
        Named steps of the expression, in order; each may use those before it.
    expression
        The run time [s], in the language of :mod:`perfmodel.expressions.expression`.
    additive
        Whether a prediction is the sum of its terms.
    definition
        What :func:`perfmodel.models.find_family` makes the family from, if it is none of this
        folder's: ``expr:`` and an expression, or the path of a file.
    """

    name: str
    citation: str
    features: tuple[str, ...] = ()
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    quantities: Quantities = _nothing
    units: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    weights: tuple[Weight, ...] = ()
    parts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    expression: str = ""
    additive: bool = True
    definition: str = ""

    @classmethod
    def from_expression(
        cls, expression: str, name: str = "expression", *, citation: str = "", weights: Iterable[Weight] = ()
    ) -> Family:
        """Make a family of one's own.

        Parameters
        ----------
        expression
            Seconds, from features and weights ``w_*`` (:mod:`perfmodel.expressions.expression`).
        name
            Identifier.
        citation
            Where it is from.
        weights
            Those whose unit, start or bounds are to be other than what the expression tells and
            from zero up, and those that a fact of the device gives.

        Raises
        ------
        ExpressionError
            If the expression has an unknown feature, a name that is neither feature nor weight, no
            weight, or none that is listed, if it cannot be differentiated or can be negative. The
            message points to the place.

        Examples
        --------
        >>> family = Family.from_expression("w_launch*launches + max(w_add*op_float32_add, w_wait)")
        >>> [(weight.name, weight.unit) for weight in family.weights]
        [('w_launch', 's/launch'), ('w_add', 's/operation'), ('w_wait', 's')]
        """
        from perfmodel.models.own import own_weights  # it makes use of this module

        return cls(
            name, citation or "a user's own expression", weights=own_weights(expression, tuple(weights)),
            expression=expression, additive=False, definition=f"expr:{expression}",
        )  # fmt: skip

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of all features that get a weight of their own."""
        return (*self.features, *(pattern for patterns in self.sums.values() for pattern in patterns))

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
        """Return the seconds that each feature contributes.

        Parameters
        ----------
        weights
            Seconds per unit, by feature.
        values
            Feature values (numbers, or arrays of one shape), by feature.

        Returns
        -------
        dict
            Seconds by feature, for the features that have both a weight and a value.
        """
        return {
            name: weights[name] * value for name, value in values.items() if name in weights
        }

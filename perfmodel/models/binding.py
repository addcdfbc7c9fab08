"""A family's run time with its sums written out over features, and its weights filled in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perfmodel.errors import MissingFactError
from perfmodel.expressions.expression import Expression, parse
from perfmodel.features import matches
from perfmodel.lazy import Lazy, cached_property
from perfmodel.models.model import TOTAL, Family

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts


def bind(family: Family, features: Collection[str], known: Mapping[str, float] | None = None) -> Expression:
    """Return a family's run time as an expression in features, quantities and weights.

    Each sum runs over those features that match its patterns; `known` weights are replaced by their numbers.

    Raises
    ------
    ExpressionError
        If the family's expression cannot be used.
    """
    sums = {
        name: sorted(feature for feature in set(features) if matches(patterns, feature))
        for name, patterns in {TOTAL: family.features, **family.sums}.items()
    }
    return parse(
        family.expression, tuple(family.units), parts=family.parts, sums=sums, constants=known,
        bounds={weight.name: (weight.lower, weight.upper) for weight in family.weights},
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RunTime(Lazy):
    """A family with the value of each weight, by its name outside of expressions (:func:`weight_name`)."""

    family: Family
    weights: Mapping[str, float]  # by their names outside of expressions (:func:`weight_name`)

    def evaluate(self, values: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Return the run time and its terms by name [s]: of features in a plain sum, else of parts.

        `values` are features and quantities (:meth:`perfmodel.models.Family.values`), numbers or arrays of one shape.
        """
        if self.family.plain_sum:
            terms = self.family.terms(self.weights, values)
            return sum(terms.values(), 0.0), terms
        expression, weights = self._whole
        parts = {name: part.value(values, own) for name, (part, own) in self._parts.items()}
        return expression.value(values, weights), parts

    def with_terms(self, values: Mapping[str, Any], terms: Mapping[str, Any]) -> Any:
        """Return the run time [s] if its terms took other seconds; `values` and the names of terms as in evaluate.

        In a plain sum it is their sum. Else each part takes the seconds that are given, and what the expression has
        beside parts is as in :meth:`evaluate`.
        """
        if self.family.plain_sum:
            return sum(terms.values(), 0.0)
        expression, weights = self._over_parts
        return expression.value({**values, **terms}, weights)

    def by_weight(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        r"""Return the seconds that rest on each weight, :math:`w \, \partial T / \partial w`, by its name.

        In a plain sum they are the terms. `values` are as of :meth:`evaluate`.
        """
        if self.family.plain_sum:
            return self.family.terms(self.weights, values)
        expression, weights = self._whole
        slopes = expression.slopes(values, weights)
        return {name: w * slope for name, w, slope in zip(self._names, weights, slopes, strict=True)}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(weight_name(self.family, name) for name in self._whole[0].weights)

    @cached_property
    def charged(self) -> frozenset[str]:
        """What the expression names and must have been measured.

        Features that have no weight that is named after them, and in a family of resources its quantities.
        """
        free = () if self.family.resources else self.family.units
        return frozenset(self._whole[0].features) - {*free} - {*self.weights}

    @cached_property
    def _whole(self) -> tuple[Expression, list[float]]:
        return self._with_weights(self.family.expression)

    @cached_property
    def _over_parts(self) -> tuple[Expression, list[float]]:
        """The expression in parts, which stand for numbers of their own, with the weights that are left in it."""
        family = replace(self.family, parts={}, units={**self.family.units, **dict.fromkeys(self.family.parts, "s")})
        found = bind(family, self.weights)
        return found, [self.weights[weight_name(self.family, name)] for name in found.weights]

    @cached_property
    def _parts(self) -> dict[str, tuple[Expression, list[float]]]:
        return {name: self._with_weights(name) for name in self.family.parts}

    def _with_weights(self, text: str) -> tuple[Expression, list[float]]:
        """Return an expression in the family's terms, with the values of the weights in it."""
        found = bind(replace(self.family, expression=text), self.weights)
        return found, [self.weights[weight_name(self.family, name)] for name in found.weights]


def known_weights(family: Family, facts: DeviceFacts | None, fit_facts: bool = False) -> dict[str, float]:
    """Return the weights that the device's facts give.

    Raises
    ------
    MissingFactError
        If a fact is unknown, unless `fit_facts` allows to fit its weight.
    """
    found = {}
    for weight in family.weights:
        if not weight.fact:
            continue
        if facts is not None and weight.fact in facts:
            found[weight.name] = float(facts.value(weight.fact))
        elif not fit_facts:
            raise MissingFactError(weight.fact, family.name, facts.name if facts else "", weight.name)
    return found


def weight_name(family: Family, variable: str) -> str:
    """Return the name of a weight outside of expressions: a weight of a sum has its feature's name.

    Examples
    --------
    >>> weight_name(Family("toy", "nowhere", ("launches",)), "w_launches")
    'launches'
    """
    own = {weight.name for weight in family.weights}
    return variable if variable in own else variable.removeprefix("w_")

"""A family's expression with its sums written out over features, and its known weights filled in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from perfmodel.errors import MissingFactError
from perfmodel.expressions.expression import Expression, linear, parse
from perfmodel.features import matches
from perfmodel.models.model import Family

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts


def bind(
    family: Family, features: Collection[str], known: Mapping[str, float] | None = None
) -> Expression:
    """Return a family's run time as an expression in features, quantities and weights.

    Parameters
    ----------
    family
        The family. One without an expression is the sum over the features that it takes.
    features
        Features that the sums run over, as far as they fit each sum's patterns.
    known
        Weights that are numbers already.

    Raises
    ------
    ExpressionError
        If the family's expression cannot be used.
    """
    if not family.expression:
        return linear(family.select(features))
    sums = {
        name: sorted(feature for feature in set(features) if matches(patterns, feature))
        for name, patterns in family.sums.items()
    }
    return parse(
        family.expression, tuple(family.units), parts=family.parts, sums=sums, constants=known,
        bounds={weight.name: (weight.lower, weight.upper) for weight in family.weights},
    )  # fmt: skip


def known_weights(
    family: Family, facts: DeviceFacts | None, fit_facts: bool = False
) -> dict[str, float]:
    """Return the weights that the device's facts give.

    Parameters
    ----------
    family
        Its weights say by which fact each is given.
    facts
        What is known of the device.
    fit_facts
        Whether weights whose fact is not known may be fitted.

    Raises
    ------
    MissingFactError
        If a fact is not known and may not be fitted.
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
    """Return what a weight is called outside of expressions: those of sums bear their feature's name.

    Examples
    --------
    >>> weight_name(Family("toy", "nowhere", ("launches",)), "w_launches")
    'launches'
    """
    own = {weight.name for weight in family.weights}
    return variable if variable in own else variable.removeprefix("w_")

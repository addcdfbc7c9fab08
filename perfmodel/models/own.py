"""Families that a user brings: an expression, or a file with a value ``FAMILY``."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pymbolic.primitives import Call, Variable

from perfmodel.errors import ExpressionError, FamilyFileError
from perfmodel.expressions.dimensions import weight_units
from perfmodel.expressions.expression import parse
from perfmodel.expressions.trees import children
from perfmodel.models.model import Family, Weight

EXPRESSION = "expr:"
"""What a family's definition begins with if the rest of it is an expression."""


def own_weights(text: str, given: tuple[Weight, ...] = ()) -> tuple[Weight, ...]:
    """Check an expression over features and return its weights in order of appearance.

    Those not given begin where the fit finds a fair start, and have the unit that follows from
    the expression; exponents begin at 1. How sharp a ``smooth_max`` is lies between 1, the sum,
    and 64.

    Raises
    ------
    ExpressionError
        If the expression cannot be used, or has no weight, or not one of those given.
    """
    bounds = {weight.name: (weight.lower, weight.upper) for weight in given}
    found = parse(text, bounds=bounds)
    known = {weight.name: weight for weight in given}
    lacking = [name for name in known if name not in found.weights]
    if lacking:
        advice = "use it, or leave it out of the weights"
        raise ExpressionError(text, 0, len(text), f"the weight '{lacking[0]}' does not stand in it", advice)
    if not found.weights:
        advice = "multiply features by weights, named w_..."
        raise ExpressionError(text, 0, len(text), "there is no weight in it, so nothing to fit", advice)
    units, sharp = weight_units(found), set(_sharpnesses(found.tree))
    own = {
        name: Weight(name, "", start=4.0, lower=1.0, upper=64.0)
        if name in sharp
        else Weight(name, unit, start=None if unit else 1.0)
        for name, unit in units.items()
    }
    return tuple({**own, **known}.values())


def _sharpnesses(tree: Any) -> Iterator[str]:
    """Yield the weights that say how sharp a smooth maximum is."""
    match tree:
        case Call(parameters=(_, _, Variable(name=name))) if tree.function.name == "smooth_max":
            yield name
    for one in children(tree):
        yield from _sharpnesses(one)


def defined_family(definition: str) -> Family:
    """Return the family that a definition stands for: ``expr:...``, or the path of a file.

    Raises
    ------
    ExpressionError
        If the expression cannot be used.
    FamilyFileError
        If the file cannot be run, or has no ``FAMILY``.
    """
    if definition.startswith(EXPRESSION):
        return Family.from_expression(definition.removeprefix(EXPRESSION).strip())
    path = Path(definition)
    if not path.is_file():
        raise FamilyFileError(definition, "does not exist")
    try:
        found = runpy.run_path(str(path), run_name=path.stem).get("FAMILY")
    except Exception as error:  # whatever a user's file raises
        raise FamilyFileError(definition, f"cannot be run ({type(error).__name__}: {error})") from error
    if not isinstance(found, Family):
        raise FamilyFileError(definition, "has no FAMILY")
    return replace(found, definition=definition)


def is_definition(text: str) -> bool:
    """Return whether a text defines a family, and is no name of one.

    Examples
    --------
    >>> is_definition("expr:w_a*launches"), is_definition("mine/toy.py"), is_definition("toy")
    (True, True, False)
    """
    return text.startswith(EXPRESSION) or text.endswith(".py")

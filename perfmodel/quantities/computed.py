"""A family's quantities, checked against those that it declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from perfmodel.errors import PerfModelError, QuantitiesError
from perfmodel.quantities.case import Case


def computed(quantities: Callable[[Case], object], declared: Iterable[str], case: Case) -> Mapping[str, Any]:
    """Return what the function computes for a case: each declared quantity, zero or more, of the sizes' shape.

    Raises
    ------
    QuantitiesError
        If it raises or exits, returns no mapping, lacks a declared quantity, or has one that is no such number.
    """
    try:
        found = quantities(case)
    except (PerfModelError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever a user's function raises, SystemExit too
        said = " ".join(str(error).split()) or "no message"
        raise QuantitiesError(case.family, f"raised {type(error).__name__} ({said})") from error
    if not isinstance(found, Mapping):
        returned = f"returned a value of type {type(found).__name__}, no mapping of names to numbers"
        raise QuantitiesError(case.family, returned)
    for name in declared:
        if name not in found:
            raise QuantitiesError(case.family, f"did not return '{name}', which the family declares")
        value = found[name]
        if type(value) is float and 0 <= value < math.inf:
            continue  # by far the most frequent case, and predictions have to be quick
        if problem := _problem(value, case):
            raise QuantitiesError(case.family, f"returned '{name}' {problem}")
    return found


def _problem(value: Any, case: Case) -> str:
    if isinstance(value, int | float | Fraction | np.integer | np.floating):
        return "" if 0 <= value < math.inf else f"as {value!r}, not finite, zero or more"
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"):
        return f"as a value of type {type(value).__name__}, neither a number nor an array of numbers"
    shape = np.broadcast_shapes(*(np.shape(size) for size in case.parameters.values()))
    if not _broadcasts(value.shape, shape):
        return f"of shape {value.shape} where the sizes have {shape}"
    return "" if np.all((value >= 0) & (value < math.inf)) else "with a value that is not finite, zero or more"


def _broadcasts(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Return whether NumPy repeats an array of a shape to fill another."""
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape[::-1], into[::-1], strict=False))

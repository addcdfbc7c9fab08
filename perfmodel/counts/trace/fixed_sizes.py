"""The points of an isl set at fixed sizes, and the values of a function at them, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeVar

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.quasipoly.translation import indicator_of, quasi_polynomial_of
from perfmodel.counts.quasipoly.vectorised import evaluated
from perfmodel.errors import TraceTooLongError

SET, PARAM, IN = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_
Points = TypeVar("Points", isl.Set, isl.Map)
Ints = NDArray[np.int64]
MOST = 20_000_000  # points looked at for one set


def at_sizes(points: Points, sizes: Mapping[str, int]) -> Points:
    """Return a set or map at some sizes; it has no parameters then."""
    for name, value in sizes.items():
        index = points.find_dim_by_name(PARAM, name)
        if index >= 0:
            points = points.fix_val(PARAM, index, isl.Val(value))
    return points.project_out(PARAM, 0, points.dim(PARAM))


def fixed(points: isl.Set, sizes: Mapping[str, int], values: Mapping[str, int] | None = None) -> isl.Set:
    """Return a set at some values of its parameters and dimensions; it has no parameters then."""
    points = at_sizes(points, sizes)
    for name, value in (values or {}).items():
        index = points.find_dim_by_name(SET, name)
        if index >= 0:
            points = points.fix_val(SET, index, isl.Val(value))
    return points


def enumerate_points(points: isl.Set) -> tuple[dict[str, Ints], int]:
    """Return the points of a bounded set without parameters, each dimension's values, and their number.

    Raises
    ------
    TraceTooLongError
        The box around the points has too many.
    """
    names = list(points.get_var_names(SET))
    if points.is_empty():
        return {name: np.zeros(0, np.int64) for name in names}, 0
    ends = [
        (points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python()) for k in range(len(names))
    ]
    number = prod(high - low + 1 for low, high in ends)
    if number > MOST:
        raise TraceTooLongError(number, MOST)
    axes = np.meshgrid(*(np.arange(low, high + 1, dtype=np.int64) for low, high in ends), indexing="ij")
    columns = {name: axis.ravel() for name, axis in zip(names, axes, strict=True)}
    program = indicator_of(points.move_dims(PARAM, 0, SET, 0, len(names)).params())
    if not program.parameters:
        return columns, number
    inside = evaluated(program, [columns[name] for name in program.parameters], number) != 0
    return {name: column[inside] for name, column in columns.items()}, int(inside.sum())


def values_at(function: isl.Map, columns: Mapping[str, Ints], count: int) -> Ints:
    """Return a function's value at the points; it is a map without parameters to one dimension."""
    piecewise = isl.PwMultiAff.from_map(function).get_pw_aff(0)
    polynomial = isl.PwQPolynomial.from_pw_aff(piecewise)
    polynomial = polynomial.move_dims(PARAM, 0, IN, 0, polynomial.dim(IN))
    program = quasi_polynomial_of(polynomial)
    found = evaluated(program, [columns[name] for name in program.parameters], count)
    return np.rint(found).astype(np.int64)

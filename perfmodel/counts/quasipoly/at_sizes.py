"""Values of numbers that have no formula of a reasonable length, at given sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.points.barvinok import OPERATIONS, BudgetSpentError, limited
from perfmodel.counts.points.cardinality import Unexpanded
from perfmodel.counts.points.set_counter import count_points
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial
from perfmodel.counts.quasipoly.translation import quasi_polynomial_of
from perfmodel.errors import CountTooHardError, ParameterError

PARAM = isl.dim_type.param
Number = int | Fraction
HARDER = 20  # at given sizes a set may take so many times the operations that a formula may


class SummandsAtSizes:
    """The sum of unexpanded products, as a function of sizes.

    Parameters
    ----------
    summands : sequence of Unexpanded
        What is added up.
    """

    def __init__(self, summands: Sequence[Unexpanded]) -> None:
        self._distinct: dict[str, isl.Set | QuasiPolynomial] = {}
        self._used: set[str] = set()
        self._products = [
            (one.factor, [self._known(part) for part in (*one.functions, *one.sets)]) for one in summands
        ]
        self.parameters = tuple(sorted(self._used))
        self._value = cache(self._sum)

    def _known(self, part: isl.Set | isl.PwQPolynomial) -> str:
        key = str(part)
        if key not in self._distinct:
            self._distinct[key] = part if isinstance(part, isl.Set) else quasi_polynomial_of(part)
            self._used.update(parameters_of(part))
        return key

    def at(self, sizes: Mapping[str, int]) -> Number:
        """Return the exact value at one size."""
        for name in self.parameters:
            if name not in sizes:
                raise ParameterError(name, "was left out", self.parameters)
        return self._value(*(int(sizes[name]) for name in self.parameters))

    def at_arrays(self, sizes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the values at arrays of sizes of one shape."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        columns = [np.broadcast_to(sizes[name], shape).ravel().tolist() for name in self.parameters]
        if not columns:
            return np.full(shape, float(self._value()))
        return np.array([float(self._value(*point)) for point in zip(*columns, strict=True)]).reshape(shape)

    def _sum(self, *point: int) -> Number:
        sizes = dict(zip(self.parameters, point, strict=True))
        values = {key: _value_of(part, sizes) for key, part in self._distinct.items()}
        total = Fraction(0)
        for factor, keys in self._products:
            for key in keys:
                factor = factor * values[key]
            total += factor
        return int(total) if total.denominator == 1 else total


def parameters_of(part: isl.Set | isl.PwQPolynomial) -> list[str]:
    """Return the names of the parameters that a set or a function depends on."""
    space = part.get_space() if isinstance(part, isl.Set) else part.get_domain_space()
    return [space.get_dim_name(PARAM, k) for k in range(part.dim(PARAM)) if part.involves_dims(PARAM, k, 1)]


def _value_of(part: isl.Set | QuasiPolynomial, sizes: Mapping[str, int]) -> Number:
    if isinstance(part, QuasiPolynomial):
        return part.exact(*(sizes[name] for name in part.parameters))
    return points_at(part, sizes)


def points_at(points: isl.Set, sizes: Mapping[str, int]) -> int:
    """Return the number of points of a set at given sizes.

    Raises
    ------
    CountTooHardError
        The set needs too much work even there.
    """
    for name, value in sizes.items():
        index = points.find_dim_by_name(PARAM, name)
        if index >= 0:
            points = points.fix_val(PARAM, index, isl.Val(value))
    points = points.project_out(PARAM, 0, points.dim(PARAM))
    number = count_points(points, OPERATIONS)
    if number.unexpanded or not number.exact:
        with suppress(BudgetSpentError), limited(OPERATIONS):
            return _listed(points)
        number = count_points(points, HARDER * OPERATIONS)
    if number.unexpanded or not number.exact:
        raise CountTooHardError(dict(sizes))
    return int(quasi_polynomial_of(number.polynomial).exact())


def _listed(points: isl.Set) -> int:
    """Return the number of points of a set by listing them: few points in many overlapping pieces are found fast."""
    found: set[str] = set()
    for piece in points.get_basic_sets():
        listed: list[isl.Point] = []
        isl.Set.from_basic_set(piece).foreach_point(listed.append)
        found.update(str(point) for point in listed)
    return len(found)


# {{{ JSON

def written(one: Unexpanded) -> dict[str, Any]:
    """Return a product as a JSON-able dictionary."""
    return {
        "factor": str(one.factor), "functions": [str(part) for part in one.functions],
        "sets": [str(part) for part in one.sets],
    }


def read(data: Mapping[str, Any]) -> Unexpanded:
    """Read what :func:`written` wrote."""
    return Unexpanded(
        Fraction(data["factor"]), tuple(isl.PwQPolynomial(text) for text in data["functions"]),
        tuple(isl.Set(text) for text in data["sets"]),
    )

# }}}

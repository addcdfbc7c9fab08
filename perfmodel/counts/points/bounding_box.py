"""The box around a set, as an upper bound of the number of its points that is cheap to evaluate."""

from __future__ import annotations

from functools import reduce
from math import prod

import islpy as isl

from perfmodel.counts.points.cardinality import product
from perfmodel.errors import InfiniteCountError

SET, PARAM = isl.dim_type.set, isl.dim_type.param
PIECES = 16  # at most, of the number of points of a box
LARGE = 1000  # value of all parameters where bounds are compared


def count_in_box(parts: list[isl.BasicSet]) -> isl.PwQPolynomial:
    """Return the number of points of a box around a set, zero where the set has no real point.

    The widths are those of the set with its divisions left out, projected over the reals. Where
    several bounds of the axes compete in more than 16 ways, only the tightest of each axis at
    large sizes is taken.

    Raises
    ------
    InfiniteCountError
        The set has no lower or no upper bound along an axis.
    """
    whole = _hull(parts)
    widths = [_widths(_projected(whole, axis)) for axis in range(whole.dim(SET))]
    if not all(widths):
        raise InfiniteCountError(str(whole))
    if prod(len(width) for width in widths) > PIECES:
        widths = [[min(width, key=_at_large_sizes)] for width in widths]
    number = isl.PwQPolynomial("{ 1 }")
    for width in widths:
        tightest = reduce(isl.PwAff.min, width)
        number = product(number, isl.PwQPolynomial.from_pw_aff(tightest.coalesce()))
    conditions = whole.project_out(SET, 0, whole.dim(SET)).remove_divs().params()
    return number.intersect_params(isl.Set.from_basic_set(conditions))


def most_points(points: isl.Set) -> int:
    """Return an upper bound of the number of points of a set without parameters, from boxes around its parts.

    It is the smaller one of the box around the whole set, and of the sum of the boxes around its parts.

    Raises
    ------
    InfiniteCountError
        The set has no lower or no upper bound along an axis.

    Examples
    --------
    >>> most_points(isl.Set("{ [i, j] : 0 <= j <= i < 10; [i, j] : i = 1000 and 0 <= j < 5 }"))
    105
    """
    parts = [_ranges(basic) for basic in points.get_basic_sets() if not basic.is_empty()]
    whole = [(min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*parts, strict=True)]
    return min(sum(map(_points_of, parts)), _points_of(whole)) if parts else 0


def _ranges(basic: isl.BasicSet) -> list[tuple[int, int]]:
    part = basic.to_set()
    found = [(part.dim_min_val(k), part.dim_max_val(k)) for k in range(basic.dim(SET))]
    if not all(low.is_int() and high.is_int() for low, high in found):
        raise InfiniteCountError(str(basic))
    return [(low.to_python(), high.to_python()) for low, high in found]


def _points_of(ranges: list[tuple[int, int]]) -> int:
    return prod(high - low + 1 for low, high in ranges)


def _hull(parts: list[isl.BasicSet]) -> isl.BasicSet:
    """Return a set over the reals, without divisions, around all parts."""
    if len(parts) == 1:
        return parts[0].remove_divs()
    return reduce(isl.Set.union, (part.to_set() for part in parts)).simple_hull().remove_divs()


def _projected(whole: isl.BasicSet, axis: int) -> isl.BasicSet:
    """Return the values on one axis, over the reals."""
    behind = whole.dim(SET) - axis - 1
    line = whole.project_out(SET, axis + 1, behind).project_out(SET, 0, axis)
    return line.remove_divs().remove_redundancies()


def _widths(line: isl.BasicSet) -> list[isl.PwAff]:
    """Return the number of integers between each lower and each upper bound."""
    lower: list[isl.PwAff] = []
    upper: list[isl.PwAff] = []
    for constraint in line.get_constraints():
        sign = constraint.get_coefficient_val(SET, 0).sgn()
        if not sign:
            continue
        bound = constraint.get_bound(SET, 0)
        if sign > 0 or constraint.is_equality():
            lower.append(_of_parameters(bound.ceil()))
        if sign < 0 or constraint.is_equality():
            upper.append(_of_parameters(bound.floor()))
    return [
        high.sub(low).add_constant_val(isl.Val(1)) for high in upper for low in lower
    ]


def _of_parameters(bound: isl.Aff) -> isl.PwAff:
    return isl.PwAff.from_aff(bound).project_domain_on_params()


def _at_large_sizes(width: isl.PwAff) -> int:
    space = width.get_domain_space()
    point = isl.Point.zero(space)
    for k in range(space.dim(PARAM)):
        point = point.set_coordinate_val(PARAM, k, isl.Val(LARGE))
    return int(width.eval(point).to_python())

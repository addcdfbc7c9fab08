"""Checks of sizes at which counts are evaluated, and values of counts without a formula."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import islpy as isl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.points.cardinality import Number, Unexpanded, isl_value, unbounded
from perfmodel.counts.points.set_counter import OPERATIONS, BudgetSpentError, can_count, count_points, limited
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial
from perfmodel.counts.quasipoly.printing import quasi_polynomial_of
from perfmodel.documents import EXACT, shortened
from perfmodel.errors import CountError, SizeError, listed
from perfmodel.libraries import REPAIR_COMMAND

PARAM = isl.dim_type.param
Points = TypeVar("Points", isl.Set, isl.Map)
CACHED = 65536  # values at sizes; the least recently used are dropped
#: Types of size arguments; other types count as the widest.
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_LIMITS = {kind: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in INTEGERS}
HARDER = 20  # operations of a set at given sizes, relative to the limit of a formula


def size_error(name: str, problem: str, allowed: Iterable[str]) -> SizeError:
    """Return the error for a size parameter. ``allowed`` are the kernel's parameters."""
    problem = f"size parameter '{name}' {problem}; the kernel's parameters are: {listed(allowed)}"
    return SizeError(problem, f"give each a non-negative integer, as in {name}=1024", name=name)


def whole(name: str, value: object, allowed: tuple[str, ...], signed: bool = False) -> int:
    """Return ``value`` as an int, or raise a SizeError. Only a ``signed`` size may be negative."""
    try:
        result = int(value)  # type: ignore[call-overload]
        same = bool(result == value)
    except (TypeError, ValueError, OverflowError, np.ma.MaskError):
        same, result = False, -1
    if not same or isinstance(value, (bool, np.bool_, str)):
        raise size_error(name, f"is {shortened(value)}, not an integer", allowed)
    if result < 0 and not signed:
        raise size_error(name, f"is {shortened(result)}, which is negative", allowed)
    return result


def left_out(name: str, allowed: tuple[str, ...]) -> SizeError:
    return size_error(name, "was left out", allowed)


def given_size(name: str, value: Any, allowed: tuple[str, ...] = ()) -> Any:
    """Return a size or a list of sizes unchanged. Return another container, such as pandas' series, as an array."""
    if type(value) is int:
        return value
    if isinstance(value, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(value).sum())):
        problem = f"has {masked} masked {'entry' if masked == 1 else 'entries'} of {value.size}"
        raise size_error(name, problem, allowed)
    if not isinstance(value, (list, tuple, range)) and not getattr(value, "ndim", 0):
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise size_error(name, f"is {shortened(value)}, which is not an array", allowed) from None
    return value if isinstance(value, (list, tuple)) else array


def check_exact(name: str, value: Any, allowed: tuple[str, ...], dtype: str = "") -> None:
    """Raise a SizeError if one of the sizes is above 2**53 or does not fit the type ``dtype``."""
    low, high = _LIMITS.get(dtype, (-EXACT, EXACT))
    least, most = max(low, -EXACT), min(high, EXACT)
    if type(value) is int and least <= value <= most:  # the usual case
        return
    try:
        extremes = np.max(value, initial=0), np.min(value, initial=0)
        outside = [size for size in extremes if size > most or size < least]  # not nan
    except (TypeError, ValueError):  # not a number: `whole` raises the error
        return
    if not outside:
        return
    if outside[0] > EXACT:
        raise size_error(name, f"is {shortened(outside[0])}, above 2**53 and so not exact as a double", allowed)
    raise SizeError(
        f"size parameter '{name}' is {outside[0]}, and the kernel's argument is of type {dtype}, which holds numbers "
        f"from {low} to {high}", "give a smaller size, or a wider type to the argument, such as int64", name=name,
    )  # fmt: skip


def whole_array(name: str, values: ArrayLike, allowed: tuple[str, ...], signed: bool = False) -> NDArray[np.int64]:
    """Return ``values`` as an int64 array, or raise a SizeError. Only a ``signed`` size may be negative."""
    array = np.asarray(given_size(name, values, allowed))
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not (array == np.floor(array)).all()):
        raise size_error(name, f"has values of type {array.dtype}", allowed)
    if array.size and array.max() >= 2**63:
        raise size_error(name, f"is {array.max()} somewhere, which is more than 64 bits hold", allowed)
    if array.size and array.min() < 0 and not signed:
        raise size_error(name, f"is {array.min()} somewhere, which is negative", allowed)
    return array.astype(np.int64)


class SummandsAtSizes:
    """The sum of unexpanded products, evaluated at sizes."""

    def __init__(self, summands: Sequence[Unexpanded]) -> None:
        self._distinct: dict[str, isl.Set | QuasiPolynomial] = {}
        self._used: set[str] = set()
        self._products = [
            (summand.factor, [self._known(part) for part in (*summand.functions, *summand.sets)])
            for summand in summands
        ]
        self.parameters = tuple(sorted(self._used))
        self._value = lru_cache(CACHED)(self._sum)

    def _known(self, part: isl.Set | isl.PwQPolynomial) -> str:
        key = str(part)
        if key not in self._distinct:
            self._distinct[key] = part if isinstance(part, isl.Set) else quasi_polynomial_of(part)
            self._used.update(parameters_of(part))
        return key

    def at(self, sizes: Mapping[str, int]) -> Number:
        """Return the value at one size. Raise a CountError if that takes more work than is allowed."""
        for name in self.parameters:
            if name not in sizes:
                raise left_out(name, self.parameters)
        return self._value(*(int(sizes[name]) for name in self.parameters))

    def at_arrays(self, sizes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the values at arrays of sizes, which are broadcast together."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        columns = [np.broadcast_to(sizes[name], shape).ravel().tolist() for name in self.parameters]
        if not columns:
            return np.full(shape, float(self._value()))
        return np.array([float(self._value(*point)) for point in zip(*columns, strict=True)]).reshape(shape)

    def _sum(self, *point: int) -> Number:
        sizes = dict(zip(self.parameters, point, strict=True))
        values = {
            key: points_at(part, sizes) if isinstance(part, isl.Set)
            else part.exact(*(sizes[name] for name in part.parameters)) for key, part in self._distinct.items()
        }
        total = sum((factor * prod(map(values.__getitem__, keys)) for factor, keys in self._products), Fraction(0))
        return total.numerator if total.denominator == 1 else total


def parameters_of(part: isl.Set | isl.Map | isl.PwQPolynomial) -> list[str]:
    space = part.get_domain_space() if isinstance(part, isl.PwQPolynomial) else part.get_space()
    return [space.get_dim_name(PARAM, k) for k in range(part.dim(PARAM)) if part.involves_dims(PARAM, k, 1)]


def held(points: Points, values: Mapping[str, int], kind: isl.dim_type = PARAM) -> Points:
    """Return a set or map with fixed values of its parameters. ``kind`` may be another kind of dimension."""
    for name, value in values.items():
        index = points.find_dim_by_name(kind, name)
        if index >= 0:
            points = points.fix_val(kind, index, isl_value(value))
    return points


def at_sizes(points: Points, sizes: Mapping[str, int]) -> Points:
    """Return a set or map at some sizes, without parameters."""
    return held(points, sizes).project_out(PARAM, 0, points.dim(PARAM))


def points_at(points: isl.Set, sizes: Mapping[str, int]) -> int:
    """Return the number of points of a set at sizes. Raise a CountError for an infinite set or too much work."""
    points = at_sizes(points, sizes)
    if not points.is_bounded():
        raise unbounded(str(points))
    number = count_points(points, OPERATIONS)
    if number.unexpanded:
        with suppress(BudgetSpentError), limited(OPERATIONS):
            return _listed(points)
        number = count_points(points, HARDER * OPERATIONS)
    if number.unexpanded:
        where = ", ".join(f"{name}={value}" for name, value in sizes.items()) or "constant sizes"
        advice = "pass a larger budget= to count(), such as budget=100, or smaller sizes"
        if not can_count():
            advice = f"install Barvinok's algorithm ({REPAIR_COMMAND})"
        raise CountError(f"the count takes more work than is allowed, even at {where}", advice)
    return int(quasi_polynomial_of(number.polynomial).exact())


def _listed(points: isl.Set) -> int:
    """Return the number of points of a set from a list of points. A list is fast for few points in many pieces."""
    distinct: set[str] = set()
    for piece in points.get_basic_sets():
        listed: list[isl.Point] = []
        isl.Set.from_basic_set(piece).foreach_point(listed.append)
        distinct.update(str(point) for point in listed)
    return len(distinct)

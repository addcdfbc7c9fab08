"""The functions of the expression language: their values and derivatives, and ranges of values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from pymbolic.primitives import Call, Comparison, If, Power, Product, Quotient, Sum, Variable

Interval: TypeAlias = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Function:
    """A function that an expression may call, of floats and of NumPy arrays.

    `arguments` is the number of its arguments. With `more` this is the least number, and further arguments are combined
    with the result, from the left. `derivatives` has the derivative by each argument, as a function of the arguments'
    expressions. For a function with jumps, `derivatives` is None, and the arguments must not contain a weight.
    `interval` returns the range of the value.
    """

    arguments: int
    scalar: Callable[..., Any]
    array: Callable[..., Any]
    derivatives: tuple[Callable[..., Any], ...] | None
    interval: Callable[..., Interval]
    more: bool = False


def call(name: str, *arguments: Any) -> Any:
    """Return the expression that calls a function."""
    return Call(Variable(name), arguments)


def smooth_max(a: Any, b: Any, sharpness: Any) -> Any:
    """Return :math:`(a^s + b^s)^{1/s}`: the sum at s = 1, the maximum for large s > 0. Negative a, b count as 0."""
    high, ratio = _sorted(a, b)
    return np.where(high > 0, high * (1 + ratio**sharpness) ** (1 / sharpness), 0.0)


def _sorted(a: Any, b: Any) -> tuple[Any, Any]:
    a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)
    high = np.maximum(a, b)
    return high, np.where(high > 0, np.minimum(a, b) / np.where(high > 0, high, 1.0), 0.0)


def _by_value(a: Any, b: Any, sharpness: Any) -> Any:
    total = smooth_max(a, b, sharpness)
    share = np.maximum(a, 0.0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, share ** (sharpness - 1), 0.5)


def _by_sharpness(a: Any, b: Any, sharpness: Any) -> Any:
    _, ratio = _sorted(a, b)
    power = ratio**sharpness
    log_ratio = np.log(np.where(ratio > 0, ratio, 1.0))
    slope = power * log_ratio / (sharpness * (1 + power)) - np.log1p(power) / sharpness**2
    return smooth_max(a, b, sharpness) * slope


def _smooth_max_of_floats(a: float, b: float, sharpness: float) -> float:
    high, low = (a, b) if a > b else (b, a)
    if high <= 0:
        return 0.0
    try:
        return high * float((1 + (max(low, 0.0) / high) ** sharpness) ** (1 / sharpness))
    except (ZeroDivisionError, OverflowError):
        return math.inf


def _guarded(function: Callable[[float], float], at_pole: float) -> Callable[[float], float]:
    """Return a function of :mod:`math` that raises no errors. Like NumPy, it returns inf, NaN, or `at_pole` at 0."""

    def value(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return at_pole if x == 0 else math.nan

    return value


def _increasing(function: Callable[[float], float], low: float) -> Callable[[Interval], Interval]:
    def interval(x: Interval) -> Interval:
        return function(max(x[0], low)), function(max(x[1], low))

    return interval


def _rounded(function: Callable[[float], int]) -> Callable[[Interval], Interval]:
    def interval(x: Interval) -> Interval:
        low, high = (float(function(end)) if math.isfinite(end) else end for end in x)
        return low, high

    return interval


def _abs_interval(x: Interval) -> Interval:
    ends = sorted((abs(x[0]), abs(x[1])))
    return (0.0 if x[0] <= 0 <= x[1] else ends[0]), ends[1]


def _chosen(first: Any, second: Any) -> tuple[Callable[..., Any], ...]:
    """Return the derivatives of ``max`` or ``min``. The first derivative is 1 where ``a first b``, else 0."""
    return (lambda a, b: If(Comparison(a, first, b), 1, 0), lambda a, b: If(Comparison(a, second, b), 1, 0))


_sqrt, _exp = _guarded(math.sqrt, 0.0), _guarded(math.exp, math.nan)
_log = _guarded(math.log, -math.inf)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({
    "max": Function(2, max, np.maximum, _chosen(">=", "<"), lambda a, b: (max(a[0], b[0]), max(a[1], b[1])), more=True),
    "min": Function(2, min, np.minimum, _chosen("<=", ">"), lambda a, b: (min(a[0], b[0]), min(a[1], b[1])), more=True),
    "smooth_max": Function(
        3, _smooth_max_of_floats, smooth_max,
        (
            lambda a, b, s: call("smooth_max_by_value", a, b, s),
            lambda a, b, s: call("smooth_max_by_value", b, a, s),
            lambda a, b, s: call("smooth_max_by_sharpness", a, b, s),
        ),
        lambda a, b, s: (0.0, math.inf),
    ),
    "sqrt": Function(1, _sqrt, np.sqrt, (lambda x: Quotient(0.5, call("sqrt", x)),), _increasing(_sqrt, 0.0)),
    "exp": Function(1, _exp, np.exp, (lambda x: call("exp", x),), _increasing(_exp, -math.inf)),
    "log": Function(1, _log, np.log, (lambda x: Quotient(1, x),), _increasing(_log, 0.0)),
    "tanh": Function(
        1, math.tanh, np.tanh, (lambda x: Sum((1, Product((-1, Power(call("tanh", x), 2))))),),
        _increasing(math.tanh, -math.inf),
    ),
    "abs": Function(1, abs, np.abs, (lambda x: If(Comparison(x, ">=", 0), 1, -1),), _abs_interval),
    "floor": Function(1, np.floor, np.floor, None, _rounded(math.floor)),
    "ceil": Function(1, np.ceil, np.ceil, None, _rounded(math.ceil)),
})  # fmt: skip

ARRAY_NAMES: Mapping[str, Callable[..., Any]] = MappingProxyType({
    **{name: function.array for name, function in FUNCTIONS.items()}, "smooth_max_by_value": _by_value,
    "smooth_max_by_sharpness": _by_sharpness, "power": np.power, "divided": np.divide, "chosen": np.where,
    "both": np.logical_and, "either": np.logical_or, "opposite": np.logical_not,
})  # fmt: skip


def _power(base: float, exponent: float) -> float:
    try:
        return float(math.pow(base, exponent))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.copysign(math.inf, a) if a else math.nan


def _by_value_of_floats(a: float, b: float, sharpness: float) -> float:
    total = _smooth_max_of_floats(a, b, sharpness)
    return _power(max(a, 0.0) / total, sharpness - 1) if total > 0 else 0.5


def _by_sharpness_of_floats(a: float, b: float, sharpness: float) -> float:
    high, low = (a, b) if a > b else (b, a)
    if low <= 0:  # the larger of both at every sharpness
        return 0.0
    power = _power(low / high, sharpness)
    slope = power * math.log(low / high) / (sharpness * (1 + power)) - math.log1p(power) / sharpness**2
    return _smooth_max_of_floats(a, b, sharpness) * slope


SCALAR_NAMES: Mapping[str, Callable[..., Any]] = MappingProxyType({
    **{name: function.scalar for name, function in FUNCTIONS.items()}, "smooth_max_by_value": _by_value_of_floats,
    "smooth_max_by_sharpness": _by_sharpness_of_floats, "power": _power, "divided": _divided,
    "chosen": lambda condition, a, b: a if condition else b, "both": lambda *parts: all(parts),
    "either": lambda *parts: any(parts), "opposite": lambda part: not part,
})  # fmt: skip


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def plus(a: Interval, b: Interval) -> Interval:
    """Return the range of a sum."""
    return a[0] + b[0], a[1] + b[1]


def negative(a: Interval) -> Interval:
    """Return the range of the negated value."""
    return -a[1], -a[0]


def times(a: Interval, b: Interval) -> Interval:
    """Return the range of a product. Zero times infinity is zero."""
    ends = [_product(x, y) for x in a for y in b]
    return min(ends), max(ends)


def over(a: Interval, b: Interval) -> Interval:
    """Return the range of a quotient whose divisor is not zero."""
    if b[0] < 0 < b[1]:
        return EVERYTHING
    inverse = sorted((1 / end if end else math.copysign(math.inf, b[0] + b[1])) for end in b)
    return times(a, (inverse[0], inverse[1]))


def power(base: Interval, exponent: Interval) -> Interval:
    """Return a range that contains the power, perhaps a wider one than necessary."""
    if exponent[0] == exponent[1] and exponent[0] % 2 == 0:
        return 0.0, math.inf
    if base[0] < 0:
        return EVERYTHING
    if base[0] >= 1 and exponent[0] >= 0:
        return 1.0, math.inf
    return 0.0, math.inf


def hull(a: Interval, b: Interval) -> Interval:
    """Return the smallest range that contains two ranges."""
    return min(a[0], b[0]), max(a[1], b[1])

"""Ranges of sums, products, quotients and powers, from the ranges of their operands."""

from __future__ import annotations

import math

from perfmodel.expressions.functions import EVERYTHING, Interval


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def plus(a: Interval, b: Interval) -> Interval:
    """Return the range of a sum.

    Examples
    --------
    >>> plus((1.0, 2.0), (-1.0, 5.0))
    (0.0, 7.0)
    """
    return a[0] + b[0], a[1] + b[1]


def negative(a: Interval) -> Interval:
    """Return the range of the negated value."""
    return -a[1], -a[0]


def times(a: Interval, b: Interval) -> Interval:
    """Return the range of a product; zero times infinity is zero."""
    ends = [_product(x, y) for x in a for y in b]
    return min(ends), max(ends)


def over(a: Interval, b: Interval) -> Interval:
    """Return the range of a quotient; the divisor is taken not to be zero."""
    if b[0] < 0 < b[1]:
        return EVERYTHING
    inverse = sorted(
        (1 / end if end else math.copysign(math.inf, b[0] + b[1])) for end in b
    )
    return times(a, (inverse[0], inverse[1]))


def power(base: Interval, exponent: Interval) -> Interval:
    """Return a range that holds the power; it can be wider than needed."""
    if exponent[0] == exponent[1] and exponent[0] % 2 == 0:
        return 0.0, math.inf
    if base[0] < 0:
        return EVERYTHING
    if base[0] >= 1 and exponent[0] >= 0:
        return 1.0, math.inf
    return 0.0, math.inf


def hull(a: Interval, b: Interval) -> Interval:
    """Return the range of a value that lies in one of two ranges."""
    return min(a[0], b[0]), max(a[1], b[1])

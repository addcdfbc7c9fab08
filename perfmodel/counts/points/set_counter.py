"""Numbers of points of sets, each distinct set counted once, and each product factor by factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import islpy as isl

from perfmodel.counts.points.barvinok import can_count, warn_once
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.points.factors import FactoredSet, canonical, factored
from perfmodel.counts.points.interval_counts import IntervalCounter
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.points.summation import sum_of_points

SET = isl.dim_type.set
MANY = 8
"""More quasi-polynomials than these are slow to add up: the sum over the 48 sub-groups of a guarded
work-group takes ten seconds, and Barvinok's algorithm on their union five milliseconds."""

TILED = 4
"""Variables of a set in which tiles are merged, as Barvinok's algorithm takes exponentially long in their number:
the three loops of a skewed stencil, two of them tiled, take 0.6 s as five variables and 9 ms as three. The
numbers of sets with fewer variables stay as counts made before have them."""


class SetCounter:
    """Counts the points of sets under a program's assumptions, and remembers the numbers.

    Products of intervals are counted by their formula, other sets by :func:`count_points`.
    """

    def __init__(self, assumptions: isl.Set) -> None:
        self._intervals = IntervalCounter(assumptions)
        self._known: dict[object, Cardinality] = {}

    def factored(self, points: isl.Set) -> FactoredSet | None:
        """Return a set over the program's parameters as a product, if it is one."""
        if not self._intervals.knows(points):
            return None
        whole = factored(points)
        if whole is not None:
            self._intervals.learn(whole.multiples)
        return whole

    def count(self, points: isl.Set, whole: FactoredSet | None) -> Cardinality:
        """Return the number of points of a set, given as a product, too, if it is one."""
        parts = [] if whole is None else [self._by_intervals(f) for f in whole.factors]
        if whole is None or (None in parts and not whole.separable):
            return self._remembered(str(_with_standard_names(points)), points)
        context = (whole.multiples, canonical(Polytope((), (), whole.conditions)))
        total = Cardinality(self._intervals.indicator(whole.conditions))
        for factor, part in zip(whole.factors, parts, strict=True):
            total = total.times(part or self._count_factor(whole, factor, context))
        return total

    def _count_factor(self, whole: FactoredSet, factor: Polytope, context: object) -> Cardinality:
        """Return the number of points of a factor; tiles of many loops are merged before Barvinok sees them."""
        key = (canonical(factor), context)
        if key not in self._known:
            merged = whole.straightened_points(factor) if len(factor.variables) >= TILED else None
            self._known[key] = count_points(whole.points(factor) if merged is None else merged)
        return self._known[key]

    def sum_of_products(
        self, whole: FactoredSet, products: Iterable[list[Polytope | None]]
    ) -> Cardinality | None:
        """Return the number of points of several products under the conditions of ``whole``.

        None where a factor is None or no product of intervals, or where counting points is faster.
        """
        found: list[tuple[Cardinality, ...]] = []
        for factors in products:
            parts = [None if factor is None else self._by_intervals(factor) for factor in factors]
            if None in parts:
                return None
            found.append(tuple(part for part in parts if part is not None))
        distinct = Counter(found)
        if len(distinct) > MANY and can_count():
            return None
        conditions = self._intervals.indicator(whole.conditions)
        number = isl.PwQPolynomial("{ 0 }")
        for sizes, times in distinct.items():
            one = Cardinality(conditions.scale_val(isl.Val(times)))
            for size in sizes:
                one = one.times(size)
            number = number.add(one.polynomial)
        return Cardinality(number)

    def _by_intervals(self, factor: Polytope) -> Cardinality | None:
        key = canonical(factor)
        if key not in self._known:
            number = self._intervals.count(factor)
            if number is None:
                return None
            self._known[key] = Cardinality(number)
        return self._known[key]

    def _remembered(self, key: object, points: isl.Set) -> Cardinality:
        if key not in self._known:
            self._known[key] = count_points(points)
        return self._known[key]


def _with_standard_names(points: isl.Set) -> isl.Set:
    for index in range(points.dim(SET)):
        points = points.set_dim_name(SET, index, f"d{index}")
    return points


def count_points(points: isl.Set) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    By Barvinok's algorithm where ``islpy`` has it, else by :mod:`perfmodel.counts.points.summation`,
    with one warning in a process.
    """
    points = points.coalesce()
    if can_count():
        return Cardinality(points.card().coalesce())
    warn_once()
    return sum_of_points(points)

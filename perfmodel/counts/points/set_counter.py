"""Numbers of points of sets, each distinct set counted once, and each product factor by factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

import islpy as isl

from perfmodel.counts.points.cardinality import NOTHING, Cardinality, Unexpanded, only_at_sizes
from perfmodel.counts.points.elimination import Factors, alternating, straightened
from perfmodel.counts.points.factors import FactoredSet, factored
from perfmodel.counts.points.partial_sums import IntervalCounter
from perfmodel.counts.points.polytopes import Polytope, polytope_of
from perfmodel.counts.points.summation import OPERATIONS, BudgetSpentError, can_count, limited, sum_of_points, warn_once

SET, DIV, PARAM = isl.dim_type.set, isl.dim_type.div, isl.dim_type.param
MANY = 8
"""More quasi-polynomials than these are slow to add up: the sum over the 48 sub-groups of a guarded
work-group takes ten seconds, and Barvinok's algorithm on their union five milliseconds."""
DIMENSIONS = 7
PARTS = 16
"""Barvinok's algorithm makes the parts of a union disjoint: for the 19 parts of an odd work-group's sub-groups it
takes over two seconds, and its formula would have thousands of terms."""
LARGE_BUDGET = 10
TERMS = 2000
"""A formula of more terms is slow to simplify and to evaluate: at each size the set is counted faster."""

TILED = 4
"""Variables of a set in which tiles are merged, as Barvinok's algorithm takes exponentially long in their number:
the three loops of a skewed stencil, two of them tiled, take 0.6 s as five variables and 9 ms as three. The
numbers of sets with fewer variables stay as counts made before have them."""


class SetCounter:
    """Counts the points of sets under a program's assumptions, and remembers the numbers.

    Products of intervals are counted by their formula, other sets by :func:`count_points`.
    """

    def __init__(self, assumptions: isl.Set, operations: int = OPERATIONS) -> None:
        self.operations = operations
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
            return self._remembered(points)
        context = (whole.multiples, Polytope((), (), whole.conditions).canonical)
        total = Cardinality(self._intervals.indicator(whole.conditions))
        for factor, part in zip(whole.factors, parts, strict=True):
            total = total.times(part or self._count_factor(whole, factor, context))
        return total

    def _count_factor(self, whole: FactoredSet, factor: Polytope, context: object) -> Cardinality:
        """Return the number of points of a factor; tiles of many loops are merged before Barvinok sees them."""
        key = (factor.canonical, context)
        if key not in self._known:
            merged = whole.straightened_points(factor) if len(factor.variables) >= TILED else None
            self._known[key] = count_points(whole.points(factor) if merged is None else merged, self.operations)
        return self._known[key]

    def sum_of_unions(self, whole: FactoredSet, unions: Iterable[list[Factors]]) -> Cardinality | None:
        """Return the sum of the numbers of points of unions of products, under the conditions of ``whole``.

        None where a factor is None or no product of intervals, or where counting points is faster. A sum of many
        products that overlap is not written out as one polynomial.
        """
        found: Counter[tuple[Cardinality, ...]] = Counter()
        overlap = False
        for union in unions:
            overlap = overlap or len(union) > 1
            for sign, factors in alternating(union):
                parts = [None if factor is None else self._by_intervals(factor) for factor in factors]
                if None in parts:
                    return None
                found[tuple(part for part in parts if part is not None)] += sign
        distinct = [(sizes, times) for sizes, times in found.items() if times]
        conditions = self._intervals.indicator(whole.conditions)
        if len(distinct) > MANY and can_count():
            return None if len(distinct) < PARTS or not overlap else Cardinality(NOTHING, True, tuple(
                Unexpanded(Fraction(times), (conditions, *(size.polynomial for size in sizes)), ())
                for sizes, times in distinct
            ))
        number = NOTHING
        for sizes, times in distinct:
            one = Cardinality(conditions.scale_val(isl.Val(times)))
            for size in sizes:
                one = one.times(size)
            number = number.add(one.polynomial)
        return Cardinality(number)

    def _by_intervals(self, factor: Polytope) -> Cardinality | None:
        key = factor.canonical
        if key not in self._known:
            number = self._intervals.count(factor)
            if number is None:
                return None
            self._known[key] = Cardinality(number)
        return self._known[key]

    def _remembered(self, points: isl.Set) -> Cardinality:
        key = str(_with_standard_names(points))
        if key not in self._known:
            self._known[key] = self._in_hull(points) or count_points(points, self.operations)
        return self._known[key]

    def _in_hull(self, points: isl.Set) -> Cardinality | None:
        """Return the number of points of a union that fills its hull, or lacks one hole; else None.

        Both branches of a test fill the hull together. Where the union has floors and the hole is one basic set, the
        hole is counted instead.
        """
        if not 1 < points.n_basic_set() < PARTS:
            return None
        hull = points.simple_hull()
        try:
            with limited(self.operations):
                hole = hull.to_set().subtract(points).coalesce() if hull.is_bounded() else points
        except BudgetSpentError:
            return None
        if not hole.is_empty() and (hole.n_basic_set() > 1 or not any(b.dim(DIV) for b in points.get_basic_sets())):
            return None
        whole = self.count(hull.to_set(), self.factored(hull.to_set()))
        if hole.is_empty():
            return whole
        lacking = self._remembered(hole)
        return whole.minus(lacking) if lacking.exact else None


def _with_standard_names(points: isl.Set) -> isl.Set:
    for index in range(points.dim(SET)):
        points = points.set_dim_name(SET, index, f"d{index}")
    return points


def count_points(points: isl.Set, operations: int = OPERATIONS) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    By Barvinok's algorithm where ``islpy`` has it, else by :mod:`perfmodel.counts.points.summation`,
    with one warning in a process. Where the algorithm needs more ``operations`` of isl, or the formula
    has too many terms, the number is counted at given sizes only.
    """
    points = points.coalesce()
    if not can_count():
        warn_once()
        return sum_of_points(points)
    for one in _ways_to_write(points):
        try:
            with limited(operations):
                number = _checked(one, operations).card().coalesce()
        except BudgetSpentError:
            continue
        if any(v.is_nan() or v.is_infty() or v.is_neginfty() for _, v in number.get_pieces()):
            continue  # at some sizes at which the kernel executes nothing, perhaps
        if terms_of(number) * OPERATIONS <= TERMS * operations:
            return Cardinality(number)
    return only_at_sizes(points)


def _ways_to_write(points: isl.Set) -> Iterator[isl.Set]:
    yield points
    simple = untiled(points)
    if simple is not points:
        yield simple


def terms_of(number: isl.PwQPolynomial) -> int:
    """Return the terms of a piecewise quasi-polynomial, over all its pieces."""
    return sum(len(value.get_terms()) for _, value in number.get_pieces())


def _checked(points: isl.Set, operations: int) -> isl.Set:
    """Return the set, if isl's operations tell how long Barvinok's algorithm counts it, or the budget is large.

    Raises
    ------
    BudgetSpentError
        It has many parts or dimensions, or several existential variables that stay floors of floors. The
        algorithm takes minutes for these, most of them outside isl.
    """
    if not points.dim(PARAM) or operations > LARGE_BUDGET * OPERATIONS:
        return points
    if points.dim(SET) > DIMENSIONS or points.n_basic_set() >= PARTS:
        raise BudgetSpentError
    if any(basic.dim(DIV) > 1 for basic in points.get_basic_sets()) and "exists" in str(points):
        written = points.compute_divs().coalesce()
        if any(basic.dim(DIV) > 2 for basic in written.get_basic_sets()):
            raise BudgetSpentError
    return points


def untiled(points: isl.Set) -> isl.Set:
    """Return a set of as many points, tiles merged with their offsets; the same set where there are none."""
    basics = points.get_basic_sets()
    if len(basics) != 1 or basics[0].dim(DIV):
        return points
    polytope, _ = polytope_of(basics[0])
    simple = straightened(polytope)
    if len(simple.variables) == len(polytope.variables):
        return points
    parameters = [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))]
    rows = [*(f"{form} = 0" for form in simple.equalities), *(f"{form} >= 0" for form in simple.inequalities)]
    return isl.Set(f"[{', '.join(parameters)}] -> {{ [{', '.join(simple.variables)}] : {' and '.join(rows)} }}")

"""Numbers of points of sets. Each distinct set is counted once, and each product factor by factor.

Barvinok's algorithm is in ``islpy-barvinok``. The plain ``islpy`` has the same module name, so pip may overwrite the
former without a message. Without the algorithm, sets are summed with plain isl.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cache, lru_cache, reduce

import islpy as isl

from perfmodel.counts.points import cardinality, factors
from perfmodel.counts.points.cardinality import NOTHING, Cardinality, IntervalCounter, Unexpanded, floors_of
from perfmodel.counts.points.factors import FactoredSet, Factors, factored, without_dimensions
from perfmodel.counts.points.polytopes import Polytope, polytope_of
from perfmodel.counts.points.summation import TooHardError, Values, joined, partial_sums_of, total_of, values_of
from perfmodel.libraries import installed

SET, DIV, PARAM = isl.dim_type.set, isl.dim_type.div, isl.dim_type.param
OPERATIONS = 500_000  #: Most operations of isl (it counts its allocations) for one set or sum: about a second
LARGE_BUDGET = 10
# More quasi-polynomials are slow to add: 10 s for the 48 sub-groups of a guarded work-group; their union takes 5 ms.
MANY = 8
DIMENSIONS = 7
# Barvinok's algorithm makes the parts of a union disjoint: 19 parts take over 2 s and give thousands of terms.
PARTS = 16
TERMS = 2000  # most terms of a formula; counting a set at each size is faster than a longer formula
# Fewest variables of a set whose tiles are merged, since Barvinok's algorithm is exponential in their number: a skewed
# stencil with two tiled loops takes 0.6 s as five variables and 9 ms as three.
TILED = 4
# A box has two constraints per variable. Sets with more than three are summed over a variable with few values: the halo
# of a stencil's tile, a diamond of five variables, takes Barvinok's algorithm 6 s, and its three slices 0.1 s.
PER_VARIABLE = 3
VALUES = 5
CACHED = 1024  # formulas; the tables, nests and traffic of a kernel need the same sets, and so do its recipes


class BudgetSpentError(Exception):
    """A formula takes more work than the budget allows."""


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Limit the number of isl's operations in a block. A block that exceeds the limit raises a BudgetSpentError."""
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
        if _is_spent():  # isl may return an incomplete result without an error
            raise BudgetSpentError
    except isl.Error:
        if _is_spent():
            raise BudgetSpentError from None
        raise
    finally:
        context.set_max_operations(0)
        context.reset_operations()


def _is_spent() -> bool:
    try:  # isl's message can describe a later error, such as one of syntax
        isl.Set("{ : }")
    except isl.Error:
        return True
    return False


def has_barvinok() -> bool:
    """Return whether ``islpy.Set.card`` exists and counts a triangle correctly."""
    if not hasattr(isl.Set, "card"):
        return False
    try:
        points = isl.Set("{ [i, j] : 0 <= i < j < 10 }").card()
        return 45 == int(points.eval(isl.Point.zero(points.space.domain())).to_python())
    except Exception:  # an installation mixed from both packages fails in many ways
        return False


def is_overwritten() -> bool:
    """Return whether a plain ``islpy`` was installed over ``islpy-barvinok``."""
    return bool(installed("islpy-barvinok")) and not has_barvinok()


can_count = cache(has_barvinok)  # the check runs once in a process


class SetCounter:
    """Counts the points of sets and keeps the numbers. Products of intervals have a formula."""

    def __init__(self, assumptions: isl.Set, operations: int = OPERATIONS) -> None:
        self.operations = operations
        self._intervals = IntervalCounter(assumptions)
        self._known: dict[object, Cardinality] = {}

    def factored(self, points: isl.Set) -> FactoredSet | None:
        """Return a set over the program's parameters as a product, or None if the set is not a product."""
        if not self._intervals.knows(points):
            return None
        whole = factored(points)
        if whole is not None:
            self._intervals.learn(whole.multiples)
        return whole

    def count(self, points: isl.Set, whole: FactoredSet | None) -> Cardinality:
        """Return the number of points of a set. ``whole`` is the set as a product, or None."""
        parts = [] if whole is None else [self._by_intervals(f) for f in whole.factors]
        if whole is None or (None in parts and not whole.separable):
            return self._cached(points)
        context = (whole.multiples, Polytope((), (), whole.conditions).canonical)
        total = Cardinality(self._intervals.indicator(whole.conditions))
        for factor, part in zip(whole.factors, parts, strict=True):
            total = total.times(part or self._count_factor(whole, factor, context))
        return total

    def _count_factor(self, whole: FactoredSet, factor: Polytope, context: object) -> Cardinality:
        key = (factor.canonical, context)
        if key not in self._known:
            simple = whole.straightened_points(factor) if len(factor.variables) >= TILED else None
            points = whole.points(factor) if simple is None else simple
            self._known[key] = self._by_slices(points) or count_points(points, self.operations)
        return self._known[key]

    def sum_of_unions(self, whole: FactoredSet, unions: Iterable[list[Factors]]) -> Cardinality | None:
        """Return the total number of points of unions of products. The conditions of ``whole`` apply to all unions.

        The result is None if a factor is None (unknown) or not a product of intervals. It is also None if another way
        of counting the points is faster.
        """
        multiplicities: Counter[tuple[Cardinality, ...]] = Counter()
        overlap = False
        for union in unions:
            overlap = overlap or len(union) > 1
            for sign, product in factors.alternating(union):
                parts = [None if factor is None else self._by_intervals(factor) for factor in product]
                if None in parts:
                    return None
                multiplicities[tuple(part for part in parts if part is not None)] += sign
        distinct = [(sizes, times) for sizes, times in multiplicities.items() if times]
        conditions = self._intervals.indicator(whole.conditions)
        if len(distinct) > MANY and can_count():
            return None if len(distinct) < PARTS or not overlap else Cardinality(NOTHING, True, tuple(
                Unexpanded(Fraction(times), (conditions, *(size.polynomial for size in sizes)))
                for sizes, times in distinct
            ))
        number = NOTHING
        for sizes, times in distinct:
            summand = Cardinality(conditions.scale_val(cardinality.isl_value(times)))
            for size in sizes:
                summand = summand.times(size)
            number = number.add(summand.polynomial)
        return Cardinality(number)

    def _by_intervals(self, factor: Polytope) -> Cardinality | None:
        key = factor.canonical
        if key not in self._known:
            number = self._intervals.count(factor)
            if number is None:
                return None
            self._known[key] = Cardinality(number)
        return self._known[key]

    def _cached(self, points: isl.Set) -> Cardinality:
        named = points
        for index in range(points.dim(SET)):
            named = named.set_dim_name(SET, index, f"d{index}")
        key = str(named)
        if key not in self._known:
            number = self._in_hull(points) or self._by_slices(points)
            self._known[key] = number or count_points(points, self.operations)
        return self._known[key]

    def _by_slices(self, points: isl.Set) -> Cardinality | None:
        """Return the number of points of a set of many constraints, as a sum over the values of a variable, or None."""
        variables = points.dim(SET)
        if variables <= TILED or points.n_basic_set() != 1:
            return None
        if points.get_basic_sets()[0].n_constraint() <= PER_VARIABLE * variables:
            return None
        ranges = {k: values for k in range(variables) if 1 < len(values := _values_of(points, k)) <= VALUES}
        if not ranges:
            return None
        index = min(ranges, key=lambda k: len(ranges[k]))
        slices = [without_dimensions(points.fix_val(SET, index, isl.Val(value)), [index]) for value in ranges[index]]
        sizes = [self.count(part, self.factored(part)) for part in map(isl.Set.remove_redundancies, slices)]
        unexpanded = tuple(summand for size in sizes for summand in size.unexpanded)
        if sum(floors_of(size.polynomial) for size in sizes) <= cardinality.MOST_FLOORS_ADDED:
            with suppress(BudgetSpentError), limited(self.operations):
                number = reduce(isl.PwQPolynomial.add, [size.polynomial for size in sizes]).coalesce()
                if terms_of(number) * OPERATIONS <= TERMS * self.operations:
                    return Cardinality(number, unexpanded=unexpanded)
        return cardinality.only_at_sizes(points)

    def _in_hull(self, points: isl.Set) -> Cardinality | None:
        """Return the number of points of a union that fills its hull, up to one hole. Return None for other sets."""
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
        return whole if hole.is_empty() else whole.minus(self._cached(hole))


def _values_of(points: isl.Set, index: int) -> range:
    """Return the values of a variable, or no values if they depend on parameters."""
    first, last = points.dim_min_val(index), points.dim_max_val(index)
    return range(first.to_python(), last.to_python() + 1) if first.is_int() and last.is_int() else range(0)


def count_points(points: isl.Set, operations: int = OPERATIONS) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    If Barvinok's algorithm exceeds ``operations`` of isl, or the formula has too many terms, the result has no formula:
    the points are counted at given sizes. The algorithm can crash when isl stops it, so the limit is at least
    :data:`OPERATIONS`.
    """
    points = points.coalesce()
    if not can_count():
        return sum_of_points(points)
    formulas = (_formula(written, operations) for written in _ways_to_write(points))
    number = next((formula for formula in formulas if formula is not None), None)
    return cardinality.only_at_sizes(points) if number is None else Cardinality(number)


@lru_cache(maxsize=CACHED)
def _formula(points: isl.Set, operations: int) -> isl.PwQPolynomial | None:
    try:
        with limited(max(operations, OPERATIONS)):
            number = _checked(points, operations).card().coalesce()
    except BudgetSpentError:
        return None
    if any(v.is_nan() or v.is_infty() or v.is_neginfty() for _, v in number.get_pieces()):
        return None  # such a piece may be at sizes at which the kernel executes nothing
    return number if terms_of(number) * OPERATIONS <= TERMS * operations else None


def _ways_to_write(points: isl.Set) -> Iterator[isl.Set]:
    """Yield the set. If it has tiles, also yield a set of as many points in which tile and offset are one variable."""
    yield points
    basics = points.get_basic_sets()
    if len(basics) != 1 or basics[0].dim(DIV):
        return
    polytope, _ = polytope_of(basics[0])
    simple = factors.straightened(polytope)
    if len(simple.variables) < len(polytope.variables):
        parameters = [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))]
        yield isl.Set(f"[{', '.join(parameters)}] -> {{ [{', '.join(simple.variables)}] : {simple.condition} }}")


def terms_of(number: isl.PwQPolynomial) -> int:
    return sum(len(value.get_terms()) for _, value in number.get_pieces())


def _checked(points: isl.Set, operations: int) -> isl.Set:
    """Return the set. Raise a BudgetSpentError if Barvinok's algorithm may take minutes outside isl."""
    if not points.dim(PARAM) or operations > LARGE_BUDGET * OPERATIONS:
        return points
    if points.dim(SET) > DIMENSIONS or points.n_basic_set() >= PARTS:
        raise BudgetSpentError
    if any(basic.dim(DIV) > 1 for basic in points.get_basic_sets()) and "exists" in str(points):
        written = points.compute_divs().coalesce()
        if any(basic.dim(DIV) > 2 for basic in written.get_basic_sets()):
            raise BudgetSpentError
    return points


def sum_of_points(points: isl.Set) -> Cardinality:
    """Return the number of points of disjoint polytopes. Hard polytopes are counted at given sizes only."""
    values: Values = {}
    hard: list[isl.BasicSet] = []
    for basic in points.coalesce().compute_divs().make_disjoint().compute_divs().get_basic_sets():
        try:
            values = joined(values, values_of(partial_sums_of(basic)))
        except TooHardError:
            hard.append(basic)
    total = total_of(values, [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))])
    return Cardinality(total, unexpanded=tuple(Unexpanded(Fraction(1), (), (basic.to_set(),)) for basic in hard))

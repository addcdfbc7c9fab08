"""Numbers of points of sets: each distinct set is counted once, and each product factor by factor.

Barvinok's algorithm is in ``islpy-barvinok``. The plain ``islpy`` has the same module name and may replace it without a
message of pip; :func:`has_barvinok` finds out which one is installed. Without the algorithm, sets are summed with plain
isl. If that takes too many partial sums, or the function becomes too large, a bounding box gives an upper bound.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache

import islpy as isl

from perfmodel.counts.points import cardinality
from perfmodel.counts.points.cardinality import NOTHING, Cardinality, IntervalCounter, Unexpanded
from perfmodel.counts.points.factors import FactoredSet, Factors, alternating, factored, straightened
from perfmodel.counts.points.polytopes import Polytope, polytope_of
from perfmodel.counts.points.summation import TooHardError, Values, joined, partial_sums_of, total_of, values_of
from perfmodel.errors import PerfModelWarning
from perfmodel.libraries import MENDING_COMMAND, installed

SET, DIV, PARAM = isl.dim_type.set, isl.dim_type.div, isl.dim_type.param
OPERATIONS = 500_000
"""Most operations of isl (it counts its allocations) for one set or sum: about a second."""
LARGE_BUDGET = 10
MANY = 8
"""More quasi-polynomials are slow to add: the sum over the 48 sub-groups of a guarded work-group takes ten seconds, and
Barvinok's algorithm on their union five milliseconds."""
DIMENSIONS = 7
PARTS = 16
"""Barvinok's algorithm makes the parts of a union disjoint: for the 19 parts of an odd work-group's sub-groups it
takes over two seconds, and its formula would have thousands of terms."""
TERMS = 2000
"""Most terms of a formula: one with more is slower than counting the set at each size."""
TILED = 4
"""Fewest variables of a set whose tiles are merged, since Barvinok's algorithm is exponential in their number: the
three loops of a skewed stencil, two of them tiled, take 0.6 s as five variables and 9 ms as three."""
VALUES = 16
"""Most values of an existential variable: each value makes a part of the set."""


# {{{ isl's limits and abilities

class BudgetSpentError(Exception):
    """A formula takes more work than the budget allows; callers then count at given sizes."""


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Limit isl to a number of operations, whatever time they take; more operations are a BudgetSpentError."""
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
    """Whether isl has used up its operations; its message can describe a later error, such as one of syntax."""
    try:
        isl.Set("{ : }")
    except isl.Error:
        return True
    return False


class BarvinokMissingWarning(PerfModelWarning):
    """Some counts will be upper bounds, since islpy cannot count the points of a set."""


def has_barvinok() -> bool:
    r"""Whether ``islpy.Set.card`` exists and counts a triangle correctly.

    The number of points of :math:`\{(i, j) : 0 \le i < j < 10\}` is 45.
    """
    if not hasattr(isl.Set, "card"):
        return False
    try:
        points = isl.Set("{ [i, j] : 0 <= i < j < 10 }").card()
        return 45 == int(points.eval(isl.Point.zero(points.space.domain())).to_python())
    except Exception:  # an installation mixed from both packages fails in many ways
        return False


def is_overwritten() -> bool:
    """Whether a plain ``islpy`` was installed over ``islpy-barvinok``."""
    return bool(installed("islpy-barvinok")) and not has_barvinok()


can_count = cache(has_barvinok)  # has_barvinok is called once in a process


@cache
def warn_once() -> None:
    """Warn once in a process that counts are upper bounds since Barvinok is missing."""
    warnings.warn(
        f"islpy lacks Barvinok's algorithm, so some counts are upper bounds; for exact ones: {MENDING_COMMAND}",
        BarvinokMissingWarning,
        stacklevel=2,
    )

# }}}


class SetCounter:
    """Counts the points of sets under a program's assumptions, and keeps the numbers.

    Products of intervals are counted by their formula, other sets by :func:`count_points`.
    """

    def __init__(self, assumptions: isl.Set, operations: int = OPERATIONS) -> None:
        self.operations = operations
        self._intervals = IntervalCounter(assumptions)
        self._known: dict[object, Cardinality] = {}

    def factored(self, points: isl.Set) -> FactoredSet | None:
        """Return a set over the program's parameters as a product; None if it is not one."""
        if not self._intervals.knows(points):
            return None
        whole = factored(points)
        if whole is not None:
            self._intervals.learn(whole.multiples)
        return whole

    def count(self, points: isl.Set, whole: FactoredSet | None) -> Cardinality:
        """Return the number of points of a set; `whole` is the set as a product, if it is one."""
        parts = [] if whole is None else [self._by_intervals(f) for f in whole.factors]
        if whole is None or (None in parts and not whole.separable):
            return self._cached(points)
        context = (whole.multiples, Polytope((), (), whole.conditions).canonical)
        total = Cardinality(self._intervals.indicator(whole.conditions))
        for factor, part in zip(whole.factors, parts, strict=True):
            total = total.times(part or self._count_factor(whole, factor, context))
        return total

    def _count_factor(self, whole: FactoredSet, factor: Polytope, context: object) -> Cardinality:
        """Return the number of points of a factor, after merging its tiles where it has many variables."""
        key = (factor.canonical, context)
        if key not in self._known:
            simple = whole.straightened_points(factor) if len(factor.variables) >= TILED else None
            self._known[key] = count_points(whole.points(factor) if simple is None else simple, self.operations)
        return self._known[key]

    def sum_of_unions(self, whole: FactoredSet, unions: Iterable[list[Factors]]) -> Cardinality | None:
        """Return the sum of the numbers of points of unions of products, under the conditions of ``whole``.

        None where a factor is None or not a product of intervals, or where counting points is faster. A sum of many
        products that overlap is not expanded to one polynomial.
        """
        multiplicities: Counter[tuple[Cardinality, ...]] = Counter()
        overlap = False
        for union in unions:
            overlap = overlap or len(union) > 1
            for sign, factors in alternating(union):
                parts = [None if factor is None else self._by_intervals(factor) for factor in factors]
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
            self._known[key] = self._in_hull(points) or count_points(points, self.operations)
        return self._known[key]

    def _in_hull(self, points: isl.Set) -> Cardinality | None:
        """Return the number of points of a union that fills its hull except for at most one hole; else None.

        Both branches of a test together fill the hull. A hole is subtracted where the union has floors and the hole is
        one basic set.
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
        lacking = self._cached(hole)
        return whole.minus(lacking) if lacking.exact else None


def count_points(points: isl.Set, operations: int = OPERATIONS) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    Barvinok's algorithm counts them, or :func:`sum_of_points` where it is missing. If the algorithm needs more
    ``operations`` of isl, or the formula has too many terms, the points are counted at given sizes only. The limit is
    at least :data:`OPERATIONS`, since the algorithm can crash when isl stops it.
    """
    points = points.coalesce()
    if not can_count():
        number = sum_of_points(points)
        if not number.exact:
            warn_once()
        return number
    for written in _ways_to_write(points):
        try:
            with limited(max(operations, OPERATIONS)):
                number = _checked(written, operations).card().coalesce()
        except BudgetSpentError:
            continue
        if any(v.is_nan() or v.is_infty() or v.is_neginfty() for _, v in number.get_pieces()):
            continue  # such a piece may be at sizes at which the kernel executes nothing
        if terms_of(number) * OPERATIONS <= TERMS * operations:
            return Cardinality(number)
    return cardinality.only_at_sizes(points)


def _ways_to_write(points: isl.Set) -> Iterator[isl.Set]:
    """Yield the set and, if it has tiles, a set of as many points with tiles and offsets merged."""
    yield points
    basics = points.get_basic_sets()
    if len(basics) != 1 or basics[0].dim(DIV):
        return
    polytope, _ = polytope_of(basics[0])
    simple = straightened(polytope)
    if len(simple.variables) < len(polytope.variables):
        parameters = [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))]
        yield isl.Set(f"[{', '.join(parameters)}] -> {{ [{', '.join(simple.variables)}] : {simple.condition} }}")


def terms_of(number: isl.PwQPolynomial) -> int:
    """Return the terms of a piecewise quasi-polynomial, over all its pieces."""
    return sum(len(value.get_terms()) for _, value in number.get_pieces())


def _checked(points: isl.Set, operations: int) -> isl.Set:
    """Return the set; raise a BudgetSpentError for one that takes Barvinok's algorithm minutes, mostly outside isl.

    These sets have many parts or dimensions, or several existential variables that remain floors of floors. A large
    budget allows them.
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


def sum_of_points(points: isl.Set) -> Cardinality:
    """Return the sum of the points of disjoint polytopes, with boxes around the polytopes that are too hard."""
    values: Values = {}
    hard: list[isl.BasicSet] = []
    known = enumerated(points.coalesce()).compute_divs()
    for basic in known.make_disjoint().compute_divs().get_basic_sets():
        try:
            values = joined(values, values_of(partial_sums_of(basic)))
        except TooHardError:
            hard.append(basic)
    total = total_of(values, [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))])
    return Cardinality(total.add(cardinality.count_in_box(hard)).coalesce(), False) if hard else Cardinality(total)


def enumerated(points: isl.Set) -> isl.Set:
    """Return the same set with fewer existential variables.

    A part with two or more existential variables, one of which has at most 16 values at all sizes, becomes the union
    over these values. Barvinok's algorithm may take minutes for it otherwise.
    """
    basics = points.get_basic_sets()
    if all(basic.dim(DIV) < 2 for basic in basics):
        return points
    whole = isl.Set.empty(points.get_space())
    for basic in basics:
        whole = whole.union(_written_out(basic))
    return whole.coalesce()


def _written_out(basic: isl.BasicSet) -> isl.Set:
    same = isl.Set.from_basic_set(basic)
    if basic.dim(DIV) < 2:
        return same
    rank = basic.dim(SET)
    lifted = isl.Set.from_basic_set(basic.lift().flatten())
    for axis in range(rank, lifted.dim(SET)):
        low, high = lifted.dim_min_val(axis), lifted.dim_max_val(axis)
        if low.is_int() and high.is_int() and high.sub(low).to_python() < VALUES:
            parts = isl.Set.empty(basic.get_space())
            for value in range(int(low.to_python()), int(high.to_python()) + 1):
                part = lifted.fix_val(SET, axis, isl.Val(value))
                parts = parts.union(part.project_out(SET, rank, lifted.dim(SET) - rank))
            return parts
    return same

"""The number of points of a set, as a function of parameters, and formulas for products of intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import islpy as isl

from perfmodel.counts.points.factors import Multiple, factored, straightened
from perfmodel.counts.points.polytopes import AffineForm, Polytope
from perfmodel.errors import CountError

PARAM = isl.dim_type.param
NOTHING = isl.PwQPolynomial("{ 0 }")
Number = int | Fraction  # the exact value of a count
# Functions of more pieces or floors are not simplified: gist takes 11 s on 13 pieces with 27 floors, without effect.
MOST_PIECES, MOST_FLOORS = 256, 16
# Sums of more floors are not computed: isl may take minutes for one addition, outside of its limit of operations.
MOST_FLOORS_ADDED = 24


@dataclass(frozen=True, eq=False)
class Unexpanded:
    """A product ``factor * prod_i f_i * prod_j |S_j|`` of functions f and sets S, for given sizes."""

    factor: Fraction
    functions: tuple[isl.PwQPolynomial, ...] = ()
    sets: tuple[isl.Set, ...] = ()

    def times(self, other: Unexpanded) -> Unexpanded:
        return Unexpanded(self.factor * other.factor, self.functions + other.functions, self.sets + other.sets)

    def scaled(self, factor: Fraction) -> Unexpanded:
        return replace(self, factor=factor * self.factor)

    def to_json(self) -> dict[str, Any]:
        functions, sets = ([str(part) for part in parts] for parts in (self.functions, self.sets))
        return {"factor": str(self.factor), "functions": functions, "sets": sets}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Unexpanded:
        functions, sets = map(isl.PwQPolynomial, data["functions"]), map(isl.Set, data["sets"])
        return cls(Fraction(data["factor"]), tuple(functions), tuple(sets))


@dataclass(frozen=True)
class Cardinality:
    """A number of points, or an upper bound if not ``exact``, as a polynomial plus products without a formula."""

    polynomial: isl.PwQPolynomial
    exact: bool = True
    unexpanded: tuple[Unexpanded, ...] = ()

    def times(self, factor: Cardinality | isl.PwQPolynomial) -> Cardinality:
        if not isinstance(factor, Cardinality):
            factor = Cardinality(factor)
        polynomial = product(self.polynomial, factor.polynomial)
        if not self.unexpanded and not factor.unexpanded:
            return Cardinality(polynomial, self.exact and factor.exact)
        left, right = (
            () if number.polynomial.is_zero() else (Unexpanded(Fraction(1), (number.polynomial,)),)
            for number in (self, factor)
        )
        products = [summand.times(other) for summand in self.unexpanded for other in (*right, *factor.unexpanded)]
        products += [summand.times(other) for summand in left for other in factor.unexpanded]
        return Cardinality(polynomial, self.exact and factor.exact, tuple(products))

    def scaled(self, factor: Fraction) -> Cardinality:
        unexpanded = tuple(summand.scaled(factor) for summand in self.unexpanded)
        return Cardinality(self.polynomial.scale_val(isl_value(factor)), self.exact, unexpanded)

    def minus(self, other: Cardinality) -> Cardinality:
        unexpanded = (*self.unexpanded, *(summand.scaled(Fraction(-1)) for summand in other.unexpanded))
        return Cardinality(self.polynomial.sub(other.polynomial), self.exact, unexpanded)


def unbounded(points: str) -> CountError:
    """Return the error for an infinite set. ``points`` is the text of the set, or of its counting function."""
    problem = f"cannot count {points}: it has infinitely many points"
    return CountError(problem, "give each dimension a lower and an upper bound")


def only_at_sizes(points: isl.Set) -> Cardinality:
    """Return the number of points of a set that has no formula. The points are counted at given sizes only."""
    return Cardinality(NOTHING, True, (Unexpanded(Fraction(1), (), (points,)),))


def product(left: isl.PwQPolynomial, right: isl.PwQPolynomial) -> isl.PwQPolynomial:
    if not left.has_equal_space(right):  # isl needs equal spaces
        for function in (left, right):
            everywhere = isl.Set.universe(function.get_domain_space())
            left, right = left.intersect_params(everywhere), right.intersect_params(everywhere)
    return left.mul(right)


def floors_of(polynomial: isl.PwQPolynomial) -> int:
    return max((value.dim(isl.dim_type.div) for _, value in polynomial.get_pieces()), default=0)


def simplified(polynomial: isl.PwQPolynomial, assumptions: isl.Set) -> isl.PwQPolynomial:
    """Return a function of parameters, simplified under the assumptions. A very large function stays as it is."""
    if polynomial.n_piece() > MOST_PIECES or floors_of(polynomial) > MOST_FLOORS:
        return polynomial
    return polynomial.gist_params(assumptions).coalesce()


def isl_value(number: int | Fraction) -> isl.Val:
    return isl.Val(str(number))


class IntervalCounter:
    """Counts the points of products of intervals. The counts are functions of parameters, valid under assumptions."""

    def __init__(self, assumptions: isl.Set) -> None:
        self._space = assumptions.get_space()
        self._zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self._space))
        self._positions = {assumptions.get_dim_name(PARAM, k): k for k in range(assumptions.dim(PARAM))}
        self._multiples: dict[str, Multiple] = {}
        self._one = self._floor(AffineForm({}, 1), 1)
        known = factored(assumptions.from_params())
        self._assumed = () if known is None else known.conditions
        self.learn(() if known is None else known.multiples)
        self._least = {name: -form.constant for form in self._assumed for name in form.names if form.terms == {name: 1}}

    def knows(self, points: isl.Set) -> bool:
        return points.dim(PARAM) == 0 or points.get_space().params().is_equal(self._space)

    def learn(self, multiples: Iterable[Multiple]) -> None:
        """Keep multiples by their names. Later forms contain these names."""
        self._multiples.update((multiple.name, multiple) for multiple in multiples)

    def count(self, polytope: Polytope) -> isl.PwQPolynomial | None:
        """Return the number of points, or None if the set is not a product of intervals."""
        simple = straightened(polytope)
        names = set(simple.variables)
        if simple.equalities or any(len(form.names & names) > 1 for form in simple.inequalities):
            return None
        number = self.indicator(form for form in simple.inequalities if not form.names & names)
        for name in simple.variables:
            lower, upper, _ = simple.bounds(name)
            low, high = self._tightest(lower, name), self._tightest(upper, name)
            if low is None or high is None or min(low[name], -high[name]) > 1:
                return None
            number = self._times_between(number, low, high, name)
        return number

    def indicator(self, forms: Iterable[AffineForm]) -> isl.PwQPolynomial:
        """Return the function that is 1 where all forms are >= 0, and 0 elsewhere."""
        return reduce(self._restricted, forms, self._one)

    def _times_between(
        self, number: isl.PwQPolynomial, low: AffineForm, high: AffineForm, name: str
    ) -> isl.PwQPolynomial:
        """Return ``number`` times the number of integers x with a*x + l >= 0 and h - b*x >= 0, where a or b is 1.

        If a = 1, there are floor(h/b) + l + 1 = floor((h + b*(l + 1)) / b) such x, or 0 if this is negative. If b = 1,
        the formula holds with a and b exchanged, and with l and h exchanged.
        """
        wide, unit = (high, low) if low[name] == 1 else (low, high)
        divisor = abs(wide[name])
        span = wide + divisor * (unit + 1)
        if not span.terms:  # isl scales faster than it multiplies
            return number.scale_val(isl_value(max(0, span.constant // divisor)))
        return number.mul(self._restricted(self._floor(span, divisor), span))

    def _tightest(self, rows: list[AffineForm], name: str) -> AffineForm | None:
        """Return the inequality that implies all others under the assumptions, or None if there is none."""
        for row in rows:
            if all(other is row or self._follows(abs(row[name]) * other - abs(other[name]) * row) for other in rows):
                return row
        return None

    def _follows(self, form: AffineForm) -> bool:
        return self._is_never_negative(form) or any(
            self._is_never_negative(form - assumed) for assumed in self._assumed
        )

    def _is_never_negative(self, form: AffineForm) -> bool:
        return all(c > 0 and name in self._least for name, c in form.terms.items()) and form.at(self._least) >= 0

    def _restricted(self, number: isl.PwQPolynomial, form: AffineForm) -> isl.PwQPolynomial:
        form = form.tightened()
        if self._follows(form):
            return number
        return number.intersect_params(isl.PwAff.from_aff(self._quotient(form, 1)).nonneg_set())

    def _floor(self, form: AffineForm, divisor: int) -> isl.PwQPolynomial:
        aff = self._quotient(form, divisor)
        return isl.PwQPolynomial.from_pw_aff(isl.PwAff.from_aff(aff if divisor == 1 else aff.floor()))

    def _quotient(self, form: AffineForm, divisor: int) -> isl.Aff:
        constant = Fraction(form.constant, divisor)
        coefficients: dict[str, Fraction] = {}
        for name, c in form.terms.items():
            share = Fraction(c, divisor)
            if name in self._multiples:
                multiple = self._multiples[name]
                name, share = multiple.parameter, share / multiple.divisor
                constant -= share * multiple.remainder
            coefficients[name] = coefficients.get(name, Fraction(0)) + share
        aff = self._zero.set_constant_val(isl_value(constant))
        for name, share in coefficients.items():
            aff = aff.set_coefficient_val(PARAM, self._positions[name], isl_value(share))
        return aff

"""Sums over a set's points as functions of parameters, and formulas for simple sets.

:class:`PartialSum` is a part of a sum; :class:`IntervalCounter` counts intervals, products of them, and tiles that are
intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm
from perfmodel.counts.points.elimination import straightened
from perfmodel.counts.points.factors import Multiple, factored
from perfmodel.counts.points.polynomials import Atom, FloorAtom, Polynomial
from perfmodel.counts.points.polytopes import Derived, Polytope

PARAM = isl.dim_type.param


class IntervalCounter:
    """Counts products of intervals as functions of a program's parameters.

    Parameters
    ----------
    assumptions : islpy.Set
        What holds for the parameters; a condition that follows from it is left out.
    """

    def __init__(self, assumptions: isl.Set) -> None:
        self._space = assumptions.get_space()
        self._zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self._space))
        self._places = {
            assumptions.get_dim_name(PARAM, k): k for k in range(assumptions.dim(PARAM))
        }
        self._multiples: dict[str, Multiple] = {}
        self._one = self._floor(AffineForm({}, 1), 1)
        known = factored(assumptions.from_params())
        self._assumed = () if known is None else known.conditions
        self.learn(() if known is None else known.multiples)
        self._least = {
            name: -form.constant
            for form in self._assumed for name in form.names if form.terms == {name: 1}
        }

    def knows(self, points: isl.Set) -> bool:
        """Whether the set's parameters are among the program's."""
        return points.dim(PARAM) == 0 or points.get_space().params().is_equal(self._space)

    def learn(self, multiples: Iterable[Multiple]) -> None:
        """Remember the names of multiples, which later forms contain."""
        self._multiples.update((one.name, one) for one in multiples)

    def count(self, polytope: Polytope) -> isl.PwQPolynomial | None:
        """Return the number of points; None where the set is no product of intervals."""
        simple = straightened(polytope)
        names = set(simple.variables)
        if simple.equalities or any(len(form.names & names) > 1 for form in simple.inequalities):
            return None
        number = self.indicator(form for form in simple.inequalities if not form.names & names)
        for name in simple.variables:
            bounds = simple.bounds(name)
            low, high = self._tightest(bounds.lower, name), self._tightest(bounds.upper, name)
            if low is None or high is None or min(low[name], -high[name]) > 1:
                return None
            number = self._times_between(number, low, high, name)
        return number

    def indicator(self, forms: Iterable[AffineForm]) -> isl.PwQPolynomial:
        """Return the function that is 1 where all forms are >= 0, and 0 elsewhere."""
        number = self._one
        for form in forms:
            number = self._restricted(number, form)
        return number

    def _times_between(
        self, number: isl.PwQPolynomial, low: AffineForm, high: AffineForm, name: str
    ) -> isl.PwQPolynomial:
        """Return a number times how many x have a*x + l >= 0 and h - b*x >= 0, with a or b equal to 1.

        With a = 1 that is floor(h/b) + l + 1 = floor((h + b*(l + 1)) / b) or, where this is
        negative, none; with b = 1 it is the same with the two exchanged.
        """
        wide, unit = (high, low) if low[name] == 1 else (low, high)
        divisor = abs(wide[name])
        span = wide + divisor * (unit + 1)
        if not span.terms:  # isl scales faster than it multiplies
            return number.scale_val(isl.Val(max(0, span.constant // divisor)))
        return number.mul(self._restricted(self._floor(span, divisor), span))

    def _tightest(self, rows: list[AffineForm], name: str) -> AffineForm | None:
        """Return the row from which all others follow, under the assumptions."""
        for row in rows:
            if all(
                other is row or self._follows(abs(row[name]) * other - abs(other[name]) * row)
                for other in rows
            ):
                return row
        return None

    def _follows(self, form: AffineForm) -> bool:
        """Whether the form is >= 0 as one of the assumptions, and sizes' least values, show."""
        return self._is_never_negative(form) or any(
            self._is_never_negative(form - assumed) for assumed in self._assumed
        )

    def _is_never_negative(self, form: AffineForm) -> bool:
        return all(c > 0 and name in self._least for name, c in form.terms.items()) and (
            form.at(self._least) >= 0
        )

    def _restricted(self, number: isl.PwQPolynomial, form: AffineForm) -> isl.PwQPolynomial:
        """Return the function where the form is >= 0 and zero elsewhere."""
        form = form.tightened()
        if self._follows(form):
            return number
        return number.intersect_params(isl.PwAff.from_aff(self._quotient(form, 1)).nonneg_set())

    def _floor(self, form: AffineForm, divisor: int) -> isl.PwQPolynomial:
        """Return floor(form / divisor) as a function of the parameters."""
        aff = self._quotient(form, divisor)
        return isl.PwQPolynomial.from_pw_aff(
            isl.PwAff.from_aff(aff if divisor == 1 else aff.floor())
        )

    def _quotient(self, form: AffineForm, divisor: int) -> isl.Aff:
        """Return form / divisor as isl's expression, with parameters for their multiples."""
        constant = Fraction(form.constant, divisor)
        coefficients: dict[str, Fraction] = {}
        for name, c in form.terms.items():
            share = Fraction(c, divisor)
            if name in self._multiples:
                multiple = self._multiples[name]
                name, share = multiple.parameter, share / multiple.divisor
                constant -= share * multiple.remainder
            coefficients[name] = coefficients.get(name, Fraction(0)) + share
        aff = self._zero.set_constant_val(_isl_value(constant))
        for name, share in coefficients.items():
            aff = aff.set_coefficient_val(PARAM, self._places[name], _isl_value(share))
        return aff


def _isl_value(number: Fraction) -> isl.Val:
    value = isl.Val(number.numerator)
    return value if number.denominator == 1 else value.div(isl.Val(number.denominator))


Values = dict[str, Polynomial]  # by the condition in isl's notation
TERMS = 400  # of a function: of all kernels that we know none needs 300 terms or 20 floors
FLOORS = 24


class TooHardError(Exception):
    """The sum needs too many partial sums (internal: an upper bound is given instead)."""


@dataclass(frozen=True)
class PartialSum:
    """A polynomial to be summed over the points of a polytope.

    Attributes
    ----------
    polytope : Polytope
        Its equalities hold among parameters alone once no variable is left.
    value : Polynomial
        What is summed.
    derived : tuple of Derived
        Parameters that are floors of forms in other ones, those before them included.
    """

    polytope: Polytope
    value: Polynomial
    derived: tuple[Derived, ...] = ()

    def substituted(self, name: str, by: AffineForm) -> PartialSum:
        """Return the sum with a form for a name; the variables stay."""
        return PartialSum(
            self.polytope.substituted(name, by), self.value.substituted(name, by), self.derived
        )


def values_of(sums: list[PartialSum]) -> Values:
    """Return the values of sums without variables, by the conditions (in isl's notation) for them."""
    values: Values = {}
    for one in sums:
        condition, value = _value_of(one)
        values[condition] = values[condition] + value if condition in values else value
    return values


def joined(first: Values, second: Values) -> Values:
    """Return the sum of two results of :func:`values_of`.

    Raises
    ------
    TooHardError
        It would take isl long to add the values, or more than 0.1 s to evaluate them.
    """
    both = first | {
        condition: first[condition] + value if condition in first else value
        for condition, value in second.items()
    }
    terms = [monomial for value in both.values() for monomial in value.terms]
    floors = {atom for monomial in terms for atom, _ in monomial if "floor" in str(atom)}
    if len(terms) > TERMS or len(floors) > FLOORS:
        raise TooHardError
    return both


def total_of(values: Values, parameters: list[str]) -> isl.PwQPolynomial:
    """Return the sum of all values, each of them zero where its condition does not hold."""
    names = ", ".join(parameters)
    total = isl.PwQPolynomial("{ 0 }")
    for condition, value in values.items():
        terms = []
        for monomial, c in value.terms.items():
            factors = [f"({atom})^{exponent}" for atom, exponent in monomial]
            terms.append("*".join([f"({c})", *factors]))
        text = f"[{names}] -> {{ ({' + '.join(terms) or '0'}) : {condition} }}"
        total = total.add(isl.PwQPolynomial(text)).coalesce()
    return total


def _value_of(one: PartialSum) -> tuple[str, Polynomial]:
    """Return the condition in isl's notation, and the value, over parameters that isl knows."""
    texts: dict[str, str] = {}
    for derived in one.derived:
        texts[derived.name] = _floor_text(derived.form, derived.denominator, texts)
    tests = [f"{form.renamed(texts)} = 0" for form in one.polytope.equalities]
    tests += [f"{form.renamed(texts)} >= 0" for form in one.polytope.inequalities]
    value = one.value
    for derived in reversed(one.derived):
        for form in one.polytope.equalities:
            if derived.name in form:
                solution = Polynomial.linear(form.without(derived.name)) * Fraction(-1, form[derived.name])
                value = value.replaced(derived.name, solution)
                break
    return " and ".join(sorted(tests)) or "1 = 1", value.mapped(lambda atom: _as_text(atom, texts))


def _as_text(atom: Atom, texts: Mapping[str, str]) -> Polynomial:
    """Return a polynomial whose only atom is the atom as a text of isl's notation."""
    if isinstance(atom, FloorAtom):
        return Polynomial.atom(_floor_text(atom.form, atom.denominator, texts))
    return Polynomial.atom(texts.get(atom, atom))


def _floor_text(form: AffineForm, denominator: int, texts: Mapping[str, str]) -> str:
    return f"floor(({form.renamed(texts)})/{denominator})"

"""Numbers of points that need no algorithm: those of intervals, and of tiles that are intervals."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import islpy as isl

from perfmodel.counts.points.elimination import tightened
from perfmodel.counts.points.factors import Multiple, product_of
from perfmodel.counts.points.polynomials import Form, combine
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.points.straightening import straightened

PARAM = isl.dim_type.param


class ClosedForms:
    """Counts intervals as functions of a program's parameters.

    Parameters
    ----------
    assumptions : islpy.Set
        What holds for the parameters; a condition that follows from it is left out.
    """

    def __init__(self, assumptions: isl.Set) -> None:
        self._space = assumptions.get_space()
        self._places = {
            assumptions.get_dim_name(PARAM, k): k for k in range(assumptions.dim(PARAM))
        }
        self._multiples: dict[str, Multiple] = {}
        known = product_of(assumptions.from_params())
        self._assumed = () if known is None else known.conditions
        self.learn(() if known is None else known.multiples)
        self._least = {
            name: -form.get("", 0)
            for form in self._assumed for name in form if name and form.keys() <= {name, ""}
            and form[name] == 1
        }

    def knows(self, points: isl.Set) -> bool:
        """Whether the set's parameters are among the program's."""
        return points.dim(PARAM) == 0 or points.get_space().params().is_equal(self._space)

    def learn(self, multiples: Iterable[Multiple]) -> None:
        """Take note of names that forms will have."""
        self._multiples.update((one.name, one) for one in multiples)

    def number(self, polytope: Polytope) -> isl.PwQPolynomial | None:
        """Return the number of points; None where the set is no product of intervals."""
        simple = straightened(polytope)
        names = set(simple.variables)
        if simple.equalities or any(len(f.keys() & names) > 1 for f in simple.inequalities):
            return None
        number = self.where(form for form in simple.inequalities if not form.keys() & names)
        for name in names:
            rows = [form for form in simple.inequalities if name in form]
            low = self._tightest([form for form in rows if form[name] > 0], name)
            high = self._tightest([form for form in rows if form[name] < 0], name)
            if low is None or high is None or min(low[name], -high[name]) > 1:
                return None
            number = number.mul(self._between(low, high, name))
        return number

    def where(self, forms: Iterable[Form]) -> isl.PwQPolynomial:
        """Return the function that is 1 where all forms are >= 0."""
        number = self._polynomial({"": 1}, 1)
        for form in forms:
            number = self._restricted(number, form)
        return number

    def _between(self, low: Form, high: Form, name: str) -> isl.PwQPolynomial:
        """Return how many x have a*x + l >= 0 and h - b*x >= 0, with a or b equal to 1.

        With a = 1 that is floor(h/b) + l + 1 = floor((h + b*(l + 1)) / b) or, where this is
        negative, none; with b = 1 it is the same with the two exchanged.
        """
        wide, unit = (high, low) if low[name] == 1 else (low, high)
        divisor = abs(wide[name])
        span = combine(combine(wide, 1, unit, divisor), 1, {"": divisor}, 1)
        return self._restricted(self._polynomial(span, divisor), span)

    def _tightest(self, rows: list[Form], name: str) -> Form | None:
        """Return the row from which all others follow, under the assumptions."""
        for row in rows:
            if all(
                other is row
                or self._follows(combine(other, abs(row[name]), row, -abs(other[name])))
                for other in rows
            ):
                return row
        return None

    def _follows(self, form: Form) -> bool:
        """Whether the form is >= 0 as one of the assumptions, and sizes' least values, show."""
        for assumed in ({}, *self._assumed):
            rest = combine(form, 1, assumed, -1)
            least = rest.pop("", 0)
            if all(c > 0 and name in self._least for name, c in rest.items()):
                least += sum(c * self._least[name] for name, c in rest.items())
                if least >= 0:
                    return True
        return False

    def _restricted(self, number: isl.PwQPolynomial, form: Form) -> isl.PwQPolynomial:
        """Return the function where the form is >= 0 and zero elsewhere."""
        form = tightened(form)
        if self._follows(form):
            return number
        return number.intersect_params(isl.PwAff.from_aff(self._affine(form, 1)).nonneg_set())

    def _polynomial(self, form: Form, divisor: int) -> isl.PwQPolynomial:
        aff = self._affine(form, divisor)
        return isl.PwQPolynomial.from_pw_aff(
            isl.PwAff.from_aff(aff if divisor == 1 else aff.floor())
        )

    def _affine(self, form: Form, divisor: int) -> isl.Aff:
        """Return form / divisor over the parameters."""
        coefficients: dict[str, Fraction] = {}
        for name, c in form.items():
            share = Fraction(c, divisor)
            if name in self._multiples:
                multiple = self._multiples[name]
                name, share = multiple.parameter, share / multiple.divisor
                coefficients[""] = coefficients.get("", Fraction(0)) - share * multiple.remainder
            coefficients[name] = coefficients.get(name, Fraction(0)) + share
        aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self._space))
        for name, share in coefficients.items():
            value = isl.Val(share.numerator).div(isl.Val(share.denominator))
            aff = (
                aff.set_coefficient_val(PARAM, self._places[name], value) if name
                else aff.set_constant_val(value)
            )
        return aff

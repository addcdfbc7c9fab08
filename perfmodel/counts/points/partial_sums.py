"""Partial sums of a sum over a set's points, and what they add up to as a function of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm
from perfmodel.counts.points.polynomials import Atom, FloorAtom, Polynomial
from perfmodel.counts.points.polytopes import Derived, Polytope

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
